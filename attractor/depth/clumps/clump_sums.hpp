// Rows of attention (sphere, Q = K = V = I) over tokens in clumps, in any dimension. With token
// i = c_a + xi in clump a, j = c_b + eta in clump b and D = c_a - c_b,
//
//   w_ij = m_j e^{-beta |x_i - x_j|^2 / 2} = E_ab t_i u_j e^{s},     s = beta <xi, eta>,
//   E_ab = e^{-beta |D|^2 / 2},  t_i = e^{-beta (<D, xi> + |xi|^2 / 2)},
//   u_j = m_j e^{beta (<D, eta> - |eta|^2 / 2)} = m_j t_j seen from a.
//
// Only s is expanded: |s| <= eps_ab = beta r_a r_b, tiny for tight clumps however far they are from
// each other, and nothing needs them to be apart. So clump b is to clump a three moments M0 = sum
// u, M1 = sum u eta and, for a itself, the matrix M2 = sum u eta eta^T, and (x_j - x_i = -D - xi +
// eta)
//
//   order 0   sum_j w_ij (x_j - x_i) = E t [M0 (-D - xi) + M1],          Z_i: E t M0
//   order 1   own: t [M1 + beta M2 xi - xi (M0 + beta <xi, M1>)];        Z_i: t (M0 + beta <xi,
//   M1>)
//             others: the same, with M2 as b sees itself and t_i of the own clump for it: one
//             matrix
//   direct    pair by pair
//
// Centres are centres of mass, where M1 almost vanishes: order 0 is nearly one of second order.
// All is in differences, so small velocities keep their digits. Per pair (a, b) the cost is that of
// (n_a + n_b) d multiply-adds: products of matrices, O(n k d) in all, beside n d^2 for M2.
//
// Error. |e^s - 1 - .. - s^p/p!| <= e^eps eps^{p+1} / (p+1)!. Dropped of a row's pull, over E t:
//
//   0  beta r_a (|M1| (|D| + r_a) + |M2| e^{beta |D| r_b}) + (eps^2/2) e^eps M0 (|D| + r_a + r_b)
//   1  (eps^2/2) e^eps M0 (|D| + r_a + r_b) + beta r_a |M2| (e^{beta |D| (r_a + r_b)} - 1)
//      own, whose M2 is exact: beta^2 r_a^3 e^eps S
//
// S = tr M2 and |M2| Frobenius' norm; of Z_i alike without lengths. They are compared with the
// terms of the row, sum_j w_ij |x_j - x_i| >= t (S - |M1|^2 / M0) / (2 r_a) e^-eps for the own
// clump and E t M0 e^-eps (|D| - r_a - r_b) for others: of each pair (a, b) the least order is
// taken whose share is below its part of the accuracy. So the error is relative to what moves a
// token, as that of dense rows is; what is reached is returned, rounding included.
#pragma once

#include <span>

#include "attractor/depth/clumps/clump_plan.hpp"

namespace attractor::depth {

/// Sums over j != i: pull_i = sum_j w_ij (x_j - x_i), n x dim, and weight_i = sum_j w_ij.
ClumpOutcome clump_sums(const ClumpSources& sources, const ClumpPartition& partition,
                        std::span<double> pull, std::span<double> weight);

}  // namespace attractor::depth
