#pragma once
// Features of rows whose inner products approximate the Gaussian kernel exp(-gamma ||x - z||^2), or
// a kernel that a training has learned, so that a linear method on them approximates a method with
// that kernel.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_estimate.hpp"
#include "kernel/combined_kernel.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/executor.hpp"
#include "margrove/options.hpp"

namespace margrove {

/// Fitted on training rows and kept in models.
///   nystroem  phi(x) = L^-1 (k(x, z_1), ..., k(x, z_m)) for m landmarks z, which are random
///             training rows, and L L^T = K + jitter I of their kernel matrix K [Williams2001]; the
///             jitter is in units of the mean of K's diagonal
///   fourier   phi(x)_f = sqrt(2 / m) cos(w_f x + b_f), where the m vectors w_f have independent
///             components of N(0, 2 gamma) and b_f is uniform on [0, 2 pi) [Rahimi2007]. The random
///             numbers are made anew where they are used: those of each column have a stream of
///             their own, so that rows need only those of their columns.
struct KernelFeatures {
  enum class Kind : std::uint8_t { nystroem, fourier };
  /// More features are refused: every row would take half a megabyte.
  static constexpr std::uint32_t kMost = 65'536;

  /// The option: none, nystroem:N or fourier:N.
  struct Choice {
    Kind kind = Kind::nystroem;
    std::uint32_t size = 0;  // 0: none
    bool is_none() const { return size == 0; }
    /// Throws InvalidOption.
    static Choice parse(std::string_view text);
    std::string to_text() const;
    bool operator==(const Choice&) const = default;
  };

  Kind kind = Kind::nystroem;
  double gamma = 1;                      // of the Gaussian kernel; 0 with a learned one
  std::optional<LearnedKernel> learned;  // nystroem: k, in place of the Gaussian kernel
  CsrMatrix landmarks;                   // nystroem; otherwise only the number of columns of rows
  std::vector<float> inverse_factor;     // nystroem: the rows of L^-1, each up to the diagonal
  std::uint64_t seed = 0;                // fourier
  std::uint32_t num_fourier = 0;         // fourier: m

  /// `gamma` 0: 1 / (2 d^2) for the median distance d of the rows (median_distance()). Takes all
  /// rows as landmarks if they are fewer than choice.size. Throws InvalidInput if there are no
  /// rows, and OutOfTime where `control`, which may be null, asks to end. O(rows of the result^3)
  /// of nystroem. The same bits for any executor, as apply().
  static KernelFeatures fit(const CsrView& X, const Choice& choice, double gamma,
                            std::uint64_t seed, Executor& executor, RunControl* control);
  /// The same by `size` landmarks for a learned kernel, which takes rows of so many columns. Throws
  /// InvalidInput also if a kernel is centred or given, if all weights are 0, or if the kernel
  /// matrix of the landmarks is not positive semidefinite, and as cross_kernels().
  static KernelFeatures fit(const CsrView& X, LearnedKernel learned, std::uint32_t num_columns,
                            std::uint32_t size, std::uint64_t seed, Executor& executor,
                            RunControl* control);
  /// Rows of size() numbers, none left out. Columns that training did not have are left out. What
  /// becomes of a row does not depend on the others. Throws OutOfTime. O(rows size() (size() +
  /// nonzeros of a row)) of nystroem, O(nonzeros size()) of fourier.
  CsrMatrix apply(const CsrView& X, Executor& executor, RunControl* control) const;

  std::uint32_t num_columns() const { return landmarks.num_columns(); }  // of rows
  std::uint32_t size() const;
  Choice choice() const { return {kind, size()}; }
  /// Throws InvalidInput unless the members fit together, as after loading them from a file.
  void check() const;
};
template <>
inline constexpr auto kEnumNames<KernelFeatures::Kind> =
    std::array{EnumName{KernelFeatures::Kind::nystroem, "nystroem"},
               EnumName{KernelFeatures::Kind::fourier, "fourier"}};

/// What fit() and apply() take on X beside it, and the features. `learned`: the kernel; null: the
/// Gaussian one.
MemoryEstimate kernel_features_memory(const KernelFeatures::Choice& choice, const CsrView& X,
                                      const CombinedKernel* learned = nullptr, int num_threads = 1);

}  // namespace margrove
