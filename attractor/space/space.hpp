// Where the points of a state live: S^{d-1} or R^d. A state is count x dim doubles, row-major.
#pragma once

#include <cstddef>
#include <span>

namespace attractor {

class Space {
 public:
  explicit Space(std::size_t dim) : dim_(dim) {}
  virtual ~Space() = default;
  std::size_t dim() const { return dim_; }

  virtual const char* name() const = 0;
  /// Puts a point of the ambient space back onto this space (sphere: x / |x|).
  virtual void retract(std::span<double> point) const = 0;
  /// Removes from `vector` what is not tangent at `point` (sphere: v - <x,v> x).
  virtual void project(std::span<const double> point, std::span<double> vector) const = 0;
  /// Geodesic distance, accurate for near points.
  virtual double distance(std::span<const double> a, std::span<const double> b) const = 0;
  /// Points cannot run away.
  virtual bool compact() const = 0;
  /// The size that an error of this point is measured against (sphere: 1; R^d: max(1, |x|)).
  virtual double scale(std::span<const double> point) const = 0;

 private:
  std::size_t dim_;
};

class Sphere final : public Space {
 public:
  using Space::Space;
  const char* name() const override { return "sphere"; }
  void retract(std::span<double> point) const override;
  void project(std::span<const double> point, std::span<double> vector) const override;
  double distance(std::span<const double> a, std::span<const double> b) const override;
  bool compact() const override { return true; }
  double scale(std::span<const double>) const override { return 1; }
};

class Euclidean final : public Space {
 public:
  using Space::Space;
  const char* name() const override { return "euclidean"; }
  void retract(std::span<double>) const override {}
  void project(std::span<const double>, std::span<double>) const override {}
  double distance(std::span<const double> a, std::span<const double> b) const override;
  bool compact() const override { return false; }
  double scale(std::span<const double> point) const override;
};

inline double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}
double norm(std::span<const double> a);
inline double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

}  // namespace attractor
