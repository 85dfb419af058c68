// Identifiers of the HDF5 library with owners, and its failures as Error; for the files that call
// it.
#pragma once

#include <fmt/format.h>
#include <hdf5.h>

#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attractor/base/error.hpp"

namespace attractor::hdf5 {

/// Keeps HDF5 from printing its error stack while in scope. The setting belongs to the thread, and
/// the program around us may use HDF5 too, so it is put back.
class Quiet {
 public:
  Quiet() {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Quiet() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

/// What HDF5 says about its last failure.
inline std::string reason() {
  std::string text = "HDF5 gives no reason";
  const auto first = [](unsigned level, const H5E_error2_t* error, void* out) -> herr_t {
    if (level == 0 && error->desc) *static_cast<std::string*>(out) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first, &text);
  return text;
}

inline void check(std::int64_t status, std::string_view what) {
  if (status < 0) throw Error(fmt::format("{}: {}", what, reason()));
}

/// Owns an HDF5 identifier; a negative one means the call failed and becomes an Error.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), std::string_view what) : id_(id), close_(close) {
    check(id, what);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

inline std::size_t product(const std::vector<std::size_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

inline std::string absolute(std::string_view path) {
  return path.starts_with('/') ? std::string(path) : fmt::format("/{}", path);
}

}  // namespace attractor::hdf5
