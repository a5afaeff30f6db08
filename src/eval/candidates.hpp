#pragma once
// The methods among which `margrove auto` chooses: one registry for all front ends.

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "methods/training.hpp"

namespace margrove {

/// The values of C that a search may try, ascending.
inline constexpr std::array<std::string_view, 13> kStrengths{
    "0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1", "3", "10", "30", "100", "300", "1000"};
/// The values to try first, as places in kStrengths: that next to C, a method's default, and those
/// a tenth of it and ten times it, where there are such.
std::vector<std::size_t> strengths_around(double C);

/// A method with some of its options fixed.
struct CandidateRun {
  std::string method;
  OptionValues options;
  /// Further options, each tried in addition to `options` where the candidate does well.
  std::vector<OptionValues> variants;
  /// Its time grows with these powers of the rows and of the labels.
  double growth_in_rows = 1, growth_in_labels = 1;
  /// Above so many rows it grows in proportion to them.
  std::size_t rows_of_growth = std::numeric_limits<std::size_t>::max();

  /// "flat-svm --loss squared-hinge".
  std::string name() const;
};

/// The method and options as they stand on a command line: "flat-svm --loss squared-hinge".
std::string named_with_options(const std::string& method, const OptionValues& options);

/// What decides which methods are candidates.
struct DataFacts {
  std::size_t num_rows = 0, num_labels = 0;
  double labels_of_row = 1;  // on average
  bool has_hierarchy = false;
  bool is_tree = false;             // no node has two parents
  bool has_several_labels = false;  // a row has several labels, or rows have sets of any size
  bool has_names = false;           // of labels, which texts of the rows may be compared with
  LabelSets::Unlabelled unlabelled = LabelSets::Unlabelled::automatic;
};
DataFacts facts_of(const Examples& raw, const Hierarchy* hierarchy);
/// The metric of a search that is given none.
inline std::string default_metric(const DataFacts& facts) {
  return facts.has_several_labels ? "micro_f1" : "accuracy";
}

struct LeftOut {
  std::string candidate;
  std::string reason;
};
struct Candidates {
  std::vector<CandidateRun> all;  // the simpler and cheaper ones first
  std::vector<LeftOut> left_out;
};
Candidates candidates_for(const DataFacts& facts);

}  // namespace margrove
