#pragma once
// Kernels between rows of X, and their parameters that depend on the training rows.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margrove/csr_matrix.hpp"
#include "margrove/executor.hpp"
#include "margrove/options.hpp"

namespace margrove {

/// With x, z restricted to the kernel's columns:
///   linear            x.z
///   polynomial        (slope x.z + offset)^degree
///   gaussian          exp(-||x - z||^2 / (2 width^2))
///   laplacian         exp(-||x - z||_1 / width)
///   exponential       exp(-||x - z|| / width)
///   chi2              sum_j 2 x_j z_j / (x_j + z_j)                        x, z >= 0
///   exponential_chi2  exp(-sum_j (x_j - z_j)^2 / (x_j + z_j) / width)      x, z >= 0
///   intersection      sum_j min(x_j, z_j)                                  x, z >= 0
///   cosine            x.z / (||x|| ||z||), 0 for a zero row
///   precomputed       entry (x_c, z_c) of a table, counted from 1, c the kernel's only column
///   given             x_j for the j-th training row z, from 0: rows hold their kernel values, one
///                     column for each training row
enum class KernelType {
  linear,
  polynomial,
  gaussian,
  laplacian,
  exponential,
  chi2,
  exponential_chi2,
  intersection,
  cosine,
  precomputed,
  given,
};
template <>
inline constexpr auto kEnumNames<KernelType> =
    std::array{EnumName{KernelType::linear, "linear"},
               EnumName{KernelType::polynomial, "polynomial"},
               EnumName{KernelType::gaussian, "gaussian"},
               EnumName{KernelType::laplacian, "laplacian"},
               EnumName{KernelType::exponential, "exponential"},
               EnumName{KernelType::chi2, "chi2"},
               EnumName{KernelType::exponential_chi2, "exponential-chi2"},
               EnumName{KernelType::intersection, "intersection"},
               EnumName{KernelType::cosine, "cosine"},
               EnumName{KernelType::precomputed, "precomputed"},
               EnumName{KernelType::given, "given"}};
/// Throws InvalidInput listing the known names.
KernelType kernel_type(std::string_view name);
bool has_width(KernelType type);
/// Whether rows must not have negative values.
bool refuses_negative(KernelType type);

/// The scaling of K, which is divided by
///   none      nothing
///   trace     its mean diagonal over the training rows, so that the trace is n
///   diagonal  sqrt(K(x,x) K(z,z)), so that the diagonal is 1 (0 for rows without length)
enum class KernelScaling { none, trace, diagonal };
template <>
inline constexpr auto kEnumNames<KernelScaling> =
    std::array{EnumName{KernelScaling::none, "none"}, EnumName{KernelScaling::trace, "trace"},
               EnumName{KernelScaling::diagonal, "diagonal"}};
KernelScaling kernel_scaling(std::string_view name);

/// Columns [begin, end) of X.
struct ColumnRange {
  FeatureId begin = 0;
  FeatureId end = 0;
  bool operator==(const ColumnRange&) const = default;
};

/// Columns as text, "1-20,25": counted from 1 as in files, the last one included.
std::string format_columns(std::span<const ColumnRange> ranges);

struct KernelSpec {
  std::string name;
  KernelType type = KernelType::gaussian;
  /// Times the median distance of training rows (in the kernel's own distance) if width_in_medians.
  double width = 1.0;
  bool width_in_medians = true;
  int degree = 2;
  double slope = 1.0;
  double offset = 1.0;
  KernelScaling scaling = KernelScaling::trace;
  bool centred = false;              // in feature space, over the training rows
  std::vector<ColumnRange> columns;  // ascending, disjoint; empty: all
  std::string file;                  // of a precomputed kernel
  bool operator==(const KernelSpec&) const = default;
};

/// Throws InvalidInput naming the kernel and the field: width, slope, offset, degree out of range;
/// column ranges empty, overlapping or beyond num_columns; a precomputed kernel without file or
/// with other than one column; a given kernel with other than one range of columns; a kernel both
/// centred and scaled to unit diagonal, or given and so scaled, as K(x, x) is unknown.
void check_kernel(const KernelSpec& spec, std::uint32_t num_columns);

/// num_rows x num_columns numbers of a text file: separated by spaces, tabs or commas, one row
/// per line. Throws InvalidInput naming file and line if it cannot be read, something is not a
/// finite number, or rows differ in length.
struct KernelTable {
  std::size_t num_rows = 0;
  std::size_t num_columns = 0;
  std::vector<float> values;
};
KernelTable read_kernel_table(const std::string& path);

/// A kernel with all parameters known, as models keep it.
struct FittedKernel {
  KernelSpec spec;                           // its width is absolute
  double factor = 1.0;                       // trace scaling multiplies by this
  std::shared_ptr<const KernelTable> table;  // of a precomputed kernel
};

/// K(a_i, b_j) of every row of A with every row of B for each kernel, row-major, without centring.
/// At prediction B has the support vectors; of the columns of a given kernel they have a 1 in that
/// of their own row, so that it is the product of the rows. Rows of A are computed in parallel.
/// Throws InvalidInput naming the row: negative values for a chi2 or intersection kernel, a
/// precomputed kernel's number that is not in its table.
std::vector<std::vector<float>> cross_kernels(std::span<const FittedKernel> kernels,
                                              const CsrView& A, const CsrView& B,
                                              Executor& executor);

}  // namespace margrove
