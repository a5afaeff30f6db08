#include "eval/label_frequency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace margrove {
namespace {

constexpr std::array<std::uint32_t, 6> kLeast{0, 1, 2, 6, 21, 101};

std::size_t band_of(LabelId label, std::span<const std::uint32_t> training_rows) {
  const std::uint32_t rows = label < training_rows.size() ? training_rows[label] : 0;
  return static_cast<std::size_t>(std::ranges::upper_bound(kLeast, rows) - kLeast.begin()) - 1;
}

/// The sets without the labels of other bands.
LabelSets in_band(const LabelSets& sets, std::size_t band,
                  std::span<const std::uint32_t> training_rows) {
  LabelSets kept;
  std::vector<LabelId> row;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    row.clear();
    for (const LabelId label : sets[i]) {
      if (band_of(label, training_rows) == band) row.push_back(label);
    }
    kept.append(row);
  }
  return kept;
}

}  // namespace

std::string FrequencyBand::name() const {
  if (most == std::numeric_limits<std::uint32_t>::max()) return fmt::format("{}+", least);
  return least == most ? fmt::format("{}", least) : fmt::format("{}-{}", least, most);
}

std::vector<FrequencyBand> scores_by_frequency(const LabelSets& truth, const LabelSets& predicted,
                                               std::span<const std::uint32_t> training_rows) {
  std::vector<FrequencyBand> bands(kLeast.size());
  for (std::size_t b = 0; b < bands.size(); ++b) {
    bands[b].least = kLeast[b];
    bands[b].most =
        b + 1 < kLeast.size() ? kLeast[b + 1] - 1 : std::numeric_limits<std::uint32_t>::max();
  }
  std::vector<bool> in_training;
  for (const std::uint32_t rows : training_rows) in_training.push_back(rows > 0);
  for (const LabelScore& score : label_scores(truth, predicted, in_training)) {
    FrequencyBand& band = bands[band_of(score.label, training_rows)];
    ++band.num_labels;
    band.total.support += score.support;
    band.total.predicted += score.predicted;
    band.total.true_positives += score.true_positives;
    band.macro_f1 += score.f1();
  }
  for (FrequencyBand& band : bands) {
    if (band.num_labels > 0) band.macro_f1 /= static_cast<double>(band.num_labels);
  }
  return bands;
}

std::vector<PairedTest> sign_tests_by_frequency(const LabelSets& truth, const LabelSets& first,
                                                const LabelSets& second,
                                                std::span<const std::uint32_t> training_rows) {
  std::vector<PairedTest> tests;
  for (std::size_t b = 0; b < kLeast.size(); ++b) {
    const auto of_band = [&](const LabelSets& sets) { return in_band(sets, b, training_rows); };
    tests.push_back(micro_sign_test(of_band(truth), of_band(first), of_band(second)));
  }
  return tests;
}

}  // namespace margrove
