// Which part of the unit tests to run: no variable of the environment reaches a program in WebAssembly by itself.
Module['preRun'] = () => {
  for (const name of ['GTEST_TOTAL_SHARDS', 'GTEST_SHARD_INDEX'])
    if (process.env[name]) ENV[name] = process.env[name];
};
