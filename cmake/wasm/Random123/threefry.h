// Random123 stops at processors it was not tested on, WebAssembly among them: while it is read this looks like one that it knows and
// has no code of its own for. What it draws is compared with native draws by tests.
#pragma push_macro("__s390x__")
#undef __s390x__
#define __s390x__ 1
#include_next <Random123/threefry.h>
#pragma pop_macro("__s390x__")
