#pragma once
// Trained classifiers over a sum of kernel products, for prediction.

#include <span>
#include <vector>

#include "kernel/combined_kernel.hpp"
#include "kernel/gram.hpp"
#include "kernel/kernel_function.hpp"
#include "kernel/mkl.hpp"
#include "margrove/executor.hpp"

namespace margrove {

/// f_c(x) = sum_i u_ci K(x_i, x) + b_c over the support vectors x_i of any classifier.
struct KernelClassifiers : CombinedKernel {
  CsrMatrix support;
  std::vector<double> u;       // by classifier: u[c * support.num_rows() + i]
  std::vector<double> biases;  // one per classifier

  std::size_t num_classifiers() const { return biases.size(); }
  /// scores[i * num_classifiers() + c] = f_c(x_i); columns of X that training did not have are
  /// ignored. Rows are computed in parallel. O(rows * support vectors * kernels).
  std::vector<double> scores(const CsrView& X, Executor& executor) const;
  /// The terms weight_m sum_i u_ci K_m(x_i, x) of f_c(x), one per path m. The score is their sum
  /// plus the bias.
  std::vector<double> path_scores(const CsrView& x, std::size_t classifier) const;
};

/// Makes the classifiers from a fit: grams[k] is kernel k of the paths, over the rows of X.
/// check_centred_kernels() must not throw for them.
KernelClassifiers make_kernel_classifiers(std::span<const GramMatrix> grams,
                                          std::span<const std::vector<std::uint32_t>> paths,
                                          const MklFit& fit, const CsrView& X);
/// Throws InvalidInput if a centred kernel shares a path with another one: at prediction, centring
/// is a constant only for a kernel that is alone on its path.
void check_centred_kernels(std::span<const KernelSpec> kernels,
                           std::span<const std::vector<std::uint32_t>> paths);

/// The class of each row: with one classifier 1 where f > 0 and 0 elsewhere, with several the first
/// of the largest scores.
std::vector<std::uint32_t> predicted_classes(std::span<const double> scores,
                                             std::size_t num_classifiers);

}  // namespace margrove
