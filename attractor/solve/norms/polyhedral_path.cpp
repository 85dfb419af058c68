#include "attractor/solve/norms/polyhedral_path.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace attractor::solve::polyhedral {
namespace {

// The longest step up to 1 that keeps x positive.
Real room(const Vector& x, const Vector& step) {
  Real most = 1;
  for (Eigen::Index k = 0; k < x.size(); ++k)
    if (step[k] < 0) most = std::min(most, -x[k] / step[k]);
  return most;
}

Real primal_room(const Iterate& at, const Iterate& step) {
  return std::min({room(at.s, step.s), room(at.p, step.p), room(at.n, step.n)});
}

Real dual_room(const Iterate& at, const Iterate& step) {
  return std::min({room(at.lambda, step.lambda), room(at.u, step.u), room(at.v, step.v)});
}

}  // namespace

Path::Path(const Program& program, const Vector& w) : program_(program) {
  const Eigen::Index d = program.G.cols();
  const Real size = w.cwiseAbs().maxCoeff();
  at_.w = w;
  at_.t = Vector::Constant(program.single() ? 1 : d, 2 * size);
  at_.s = (program.G * w - program.h).cwiseMax(size / 10);
  at_.p = over_entries(at_.t) - w;
  at_.n = over_entries(at_.t) + w;
  // Half of the budget of u + v for each, and as much for lambda as makes the products alike.
  const Real dual = program.single() ? Real(0.5) / static_cast<Real>(d) : Real(0.5);
  at_.u = at_.v = Vector::Constant(d, dual);
  at_.lambda = (dual * 2 * size) * at_.s.cwiseInverse();
}

Vector Path::over_entries(const Vector& t) const {
  return program_.single() ? Vector(Vector::Constant(program_.G.cols(), t[0])) : t;
}

Path::Residuals Path::residuals() const {
  const Vector t = over_entries(at_.t);
  Residuals r{.s = at_.s + program_.h - program_.G * at_.w,
              .p = at_.p - (t - at_.w),
              .n = at_.n - (t + at_.w),
              .w = at_.u - at_.v - program_.G.transpose() * at_.lambda,
              .t = Vector::Ones(at_.t.size())};
  if (program_.single())
    r.t[0] -= (at_.u + at_.v).sum();
  else
    r.t -= at_.u + at_.v;
  return r;
}

Rows Path::solve(const Vector& D, const Vector& delta, const Rows& b) const {
  constexpr Eigen::Index kDirect = 128;  // entries up to which accuracy is cheap
  const Rows& G = program_.G;
  if (G.rows() >= G.cols() || G.cols() <= kDirect) {
    Rows M = G.transpose() * D.asDiagonal() * G;
    M.diagonal() += delta;
    return Eigen::LLT<Rows>(M).solve(b);
  }
  // Few rows, many entries: Woodbury's formula, whose cancellation is made good by refinement.
  const Rows over = G * delta.cwiseInverse().asDiagonal();
  Rows M = over * G.transpose();
  M.diagonal() += D.cwiseInverse();
  const Eigen::LLT<Rows> factor(M);
  const auto roughly = [&](const Rows& right) {
    return Rows(delta.cwiseInverse().asDiagonal() * right -
                over.transpose() * factor.solve(over * right));
  };
  Rows x = roughly(b);
  for (int round = 0; round < 3; ++round)
    x += roughly(b - G.transpose() * (D.asDiagonal() * (G * x)) - delta.asDiagonal() * x);
  return x;
}

// Newton's. Slacks follow from w and t, multipliers from slacks; what is left is a system in w and
// t, of which t is eliminated: entry by entry, or as one number.
Iterate Path::direction(const Residuals& r, const Aim& aim) const {
  const Vector D = at_.lambda.cwiseQuotient(at_.s), P = at_.u.cwiseQuotient(at_.p),
               N = at_.v.cwiseQuotient(at_.n);
  const Vector lambda = aim.s.cwiseQuotient(at_.s) + D.cwiseProduct(r.s),
               u = aim.p.cwiseQuotient(at_.p) + P.cwiseProduct(r.p),
               v = aim.n.cwiseQuotient(at_.n) + N.cwiseProduct(r.n);
  const Vector both = P + N, apart = P - N;
  const Vector b = program_.G.transpose() * lambda - u + v - r.w;
  Iterate step;
  if (program_.single()) {
    Rows sides(b.size(), 2);
    sides.col(0) = b;
    sides.col(1) = apart;
    const Rows x = solve(D, both, sides);
    const Real left = (u + v).sum() - r.t[0];
    step.t = Vector::Constant(1, (left + apart.dot(x.col(0))) / (both.sum() - apart.dot(x.col(1))));
    step.w = x.col(0) + step.t[0] * x.col(1);
  } else {
    const Vector left = u + v - r.t, ratio = apart.cwiseQuotient(both);
    const Vector delta = 4 * P.cwiseProduct(N).cwiseQuotient(both);
    step.w = solve(D, delta, b + ratio.cwiseProduct(left));
    step.t = left.cwiseQuotient(both) + ratio.cwiseProduct(step.w);
  }
  const Vector t = over_entries(step.t), products = program_.G * step.w;
  step.s = products - r.s;
  step.p = t - step.w - r.p;
  step.n = t + step.w - r.n;
  step.lambda = lambda - D.cwiseProduct(products);
  step.u = u - P.cwiseProduct(t - step.w);
  step.v = v - N.cwiseProduct(t + step.w);
  return step;
}

Real Path::complementarity() const {
  return (at_.s.dot(at_.lambda) + at_.p.dot(at_.u) + at_.n.dot(at_.v)) /
         static_cast<Real>(at_.s.size() + at_.p.size() + at_.n.size());
}

bool Path::advance() {
  const Residuals r = residuals();
  Aim aim{.s = -at_.s.cwiseProduct(at_.lambda),
          .p = -at_.p.cwiseProduct(at_.u),
          .n = -at_.n.cwiseProduct(at_.v)};
  const Iterate affine = direction(r, aim);
  const Real mu = complementarity(), a = primal_room(at_, affine), b = dual_room(at_, affine);
  const auto after = [&](const Vector& x, const Vector& dx, const Vector& y, const Vector& dy) {
    return (x + a * dx).dot(y + b * dy);
  };
  const Real count = static_cast<Real>(at_.s.size() + at_.p.size() + at_.n.size());
  const Real reached =
      (after(at_.s, affine.s, at_.lambda, affine.lambda) + after(at_.p, affine.p, at_.u, affine.u) +
       after(at_.n, affine.n, at_.v, affine.v)) /
      count;
  const Real target = mu * std::pow(reached / mu, 3);
  const auto correct = [&](Vector& goal, const Vector& dx, const Vector& dy) {
    goal.array() += target;
    goal -= dx.cwiseProduct(dy);
  };
  correct(aim.s, affine.s, affine.lambda);
  correct(aim.p, affine.p, affine.u);
  correct(aim.n, affine.n, affine.v);
  const Iterate step = direction(r, aim);
  if (!step.w.allFinite() || !step.lambda.allFinite() || !step.u.allFinite()) return false;
  constexpr Real kInside = 0.995L;  // of the way to the boundary
  const Real primal = std::min(Real(1), kInside * primal_room(at_, step)),
             dual = std::min(Real(1), kInside * dual_room(at_, step));
  at_.w += primal * step.w;
  at_.t += primal * step.t;
  at_.s += primal * step.s;
  at_.p += primal * step.p;
  at_.n += primal * step.n;
  at_.lambda += dual * step.lambda;
  at_.u += dual * step.u;
  at_.v += dual * step.v;
  return primal > 0 && dual > 0;
}

}  // namespace attractor::solve::polyhedral
