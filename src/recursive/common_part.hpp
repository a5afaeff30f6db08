#pragma once
// The part of z that all leaves share, in joint Newton's method with the softmax loss: with
// q = K^-1 1 and any vector u, the part q u' adds u to every w_l, which changes no probability.

#include <optional>
#include <span>
#include <vector>

#include "numerics/narrow_floats.hpp"
#include "recursive/label_kernel.hpp"

namespace margrove::detail {

/// remove() and add_curvature() work on one chunk of columns (newton_chunks.hpp).
class CommonPart {
 public:
  /// None where K is not invertible or empty.
  static std::optional<CommonPart> of(const LabelKernel& kernel);

  /// Removes the part from z: the optimum has sum_l z_l = 0, and rounding would make it large.
  void remove(std::span<float> z) const;
  /// The part of p has no curvature, so that the rounding of rho would make it large, too. It gets
  /// the curvature of the others: at p = K zeta, m q (q' p) is added to `product` = H p for each
  /// column, where m (q' 1)^2 is the sum of h, the diagonal of H. Returns the sum of m (q' p)^2.
  double add_curvature(std::span<const BFloat16> zeta, std::span<const BFloat16> h,
                       std::span<BFloat16> product) const;

 private:
  explicit CommonPart(std::vector<double> q);

  std::vector<double> q_;
  double total_;  // q' 1
};

}  // namespace margrove::detail
