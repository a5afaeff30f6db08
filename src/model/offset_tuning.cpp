#include "model/offset_tuning.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/out_of_time.hpp"

namespace margrove {
namespace {

constexpr double kMaxTimesTrue = 3;  // labels in the answers at the upper end of the range
constexpr int kMaxDoublings = 40;    // of the distance of an end from 0
/// So many held-out examples, evenly spaced, find the ends of the range, which need not be exact
/// and take a dozen searches each.
constexpr std::size_t kExamplesForRange = 1000;

// The pieces of one example -----------------------------------------------------------------------

double value_at(const OffsetAnswer& line, double offset) {
  return line.score + offset * line.count;
}

/// Appends the pieces between two offsets at which `low` and `high` are best, but for the first.
/// Their beginnings are finite.
void add_pieces(OffsetSearch& search, const OffsetAnswer& low, const OffsetAnswer& high,
                std::vector<OffsetPiece>& pieces) {
  if (high.count <= low.count) return;  // the same line
  const double cross = (low.score - high.score) / (high.count - low.count);
  if (!std::isfinite(cross)) return;  // scores that are out of range intersect nowhere
  if (high.count - low.count > 1) {
    const OffsetAnswer middle = search.best(cross);
    const double both = value_at(low, cross);
    const bool is_above = value_at(middle, cross) > both + 1e-9 * (1 + std::abs(both));
    if (is_above && middle.count > low.count && middle.count < high.count) {
      add_pieces(search, low, middle, pieces);
      add_pieces(search, middle, high, pieces);
      return;
    }
  }
  pieces.push_back({std::max(cross, pieces.back().begin), high.labels});
}

// A fold ------------------------------------------------------------------------------------------

constexpr std::size_t kExamplesAtOnce = 16;

/// Calls visit(k, search) for every `step`-th held-out example, started, on all threads.
template <class Visit>
void for_each_search(std::size_t num_held_out, std::size_t step, const MakeSearch& make,
                     Executor& executor, RunControl& control, const Visit& visit) {
  std::vector<std::unique_ptr<OffsetSearch>> searches(static_cast<std::size_t>(executor.size()));
  const std::size_t num_taken = (num_held_out + step - 1) / step;
  std::atomic<std::int64_t> done = 0;
  executor.for_ranges(num_taken, kExamplesAtOnce,
                      [&](std::size_t begin, std::size_t end, int worker) {
                        auto& search = searches[static_cast<std::size_t>(worker)];
                        if (search == nullptr) search = make();
                        for (std::size_t k = begin; k < end && control.proceed(); ++k) {
                          search->start(k * step);
                          visit(k * step, *search);
                        }
                        done += static_cast<std::int64_t>(end - begin);
                        control.proceed({.stage = "offset",
                                         .done = done,
                                         .total = static_cast<std::int64_t>(num_taken),
                                         .unit = Progress::Unit::rows});
                      });
}

struct OffsetRange {
  double low = 0, high = 0;
};

/// The offset of the sign of `step`, to within a factor of 2, at which is_beyond(labels in all
/// answers) begins to hold; 0 if it holds there already. It ends where a larger distance changes
/// nothing.
template <class LabelsAt, class IsBeyond>
double end_of_range(double step, const LabelsAt& labels_at, const IsBeyond& is_beyond) {
  if (is_beyond(labels_at(0.0))) return 0;
  double end = step, labels = labels_at(end);
  const bool shrink = is_beyond(labels);
  for (int k = 0; k < kMaxDoublings; ++k) {
    const double next = shrink ? 0.5 * end : 2 * end, labels_there = labels_at(next);
    if (shrink && !is_beyond(labels_there)) break;
    if (!shrink && labels_there == labels) break;
    end = next;
    labels = labels_there;
    if (!shrink && is_beyond(labels)) break;
  }
  return end;
}

/// Down to answers without labels, which takes few pieces, and up to kMaxTimesTrue times the true
/// number of labels, beyond which there could be as many pieces as labels.
OffsetRange offset_range(std::span<const std::uint32_t> held_out,
                         std::span<const std::uint32_t> true_sizes, const MakeSearch& make,
                         Executor& executor, RunControl& control) {
  const std::size_t step = std::max<std::size_t>(1, held_out.size() / kExamplesForRange);
  double true_labels = 0;
  for (std::size_t k = 0; k < held_out.size(); k += step) true_labels += true_sizes[held_out[k]];
  std::vector<double> counts(held_out.size(), 0.0);
  const auto labels_at = [&](double offset) {
    for_each_search(held_out.size(), step, make, executor, control,
                    [&](std::size_t k, OffsetSearch& search) {
                      counts[k] = static_cast<double>(search.best(offset).count);
                    });
    double sum = 0;
    for (const double count : counts) sum += count;
    return sum;
  };
  return {end_of_range(-1, labels_at, [&](double labels) { return labels <= 0; }),
          end_of_range(1, labels_at,
                       [&](double labels) { return labels >= kMaxTimesTrue * true_labels; })};
}

// The best offset ---------------------------------------------------------------------------------

/// The distance of a range from 0.
double distance(double low, double high) { return std::max({low, -high, 0.0}); }

/// pieces: of each example; empty for examples without answers.
double best_offset(const std::vector<std::vector<OffsetPiece>>& pieces, double high,
                   AnswerMetric& metric) {
  struct Change {
    double offset;
    std::size_t example, piece;
  };
  std::vector<Change> changes;
  std::size_t num_changes = 0;
  for (const auto& of_example : pieces) num_changes += of_example.size();
  changes.reserve(num_changes);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!pieces[i].empty()) metric.add(i, pieces[i].front().labels);
    for (std::size_t p = 0; p < pieces[i].size(); ++p)
      changes.push_back({pieces[i][p].begin, i, p});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tie(a.offset, a.example, a.piece) < std::tie(b.offset, b.example, b.piece);
  });
  constexpr double kRounding = 1e-12;
  double best = 0, best_value = -1, best_distance = 0;
  for (std::size_t k = 0; k < changes.size();) {
    const double begin = changes[k].offset;
    for (; k < changes.size() && changes[k].offset == begin; ++k) {
      const auto& [offset, i, p] = changes[k];
      if (p == 0) continue;  // counted already
      metric.remove(i, pieces[i][p - 1].labels);
      metric.add(i, pieces[i][p].labels);
    }
    const double end = k < changes.size() ? changes[k].offset : high;
    const double value = metric.value();
    if (value < best_value - kRounding) continue;
    if (value <= best_value + kRounding && distance(begin, end) >= best_distance) continue;
    best_value = value;
    best_distance = distance(begin, end);
    best = begin < 0 && end > 0 ? 0.0 : 0.5 * (begin + end);
  }
  return best;
}

}  // namespace

std::vector<OffsetPiece> offset_pieces(OffsetSearch& search, double low, double high) {
  const OffsetAnswer first = search.best(low);
  std::vector<OffsetPiece> pieces{{low, first.labels}};
  if (low < high) add_pieces(search, first, search.best(high), pieces);
  pieces.shrink_to_fit();
  return pieces;
}

double tuned_offset(const DecisionOptions& options, const OffsetExamples& examples,
                    AnswerMetric& metric, const FitSearch& fit, Executor& executor,
                    RunControl& control) {
  std::vector<std::vector<OffsetPiece>> pieces(examples.strata.num_rows());
  OffsetRange range;
  bool is_first = true;
  cross_validate(examples.strata, options.folds, options.seed, "the tuned offset", control,
                 [&](const Split& split, RunControl& share) {
                   const MakeSearch make = fit(split, share);
                   end_if_interrupted(control);
                   if (std::exchange(is_first, false)) {
                     range =
                         offset_range(split.validation, examples.true_sizes, make, executor, share);
                   }
                   for_each_search(split.validation.size(), 1, make, executor, share,
                                   [&](std::size_t k, OffsetSearch& search) {
                                     pieces[split.validation[k]] =
                                         offset_pieces(search, range.low, range.high);
                                   });
                 });
  return best_offset(pieces, range.high, metric);
}

LabelCounts counts_of(const LabelSets& sets) {
  return {static_cast<double>(sets.num_rows()), static_cast<double>(sets.num_labels_total())};
}

MemoryEstimate offset_memory(const LabelCounts& counts, double row_bytes, MemoryEstimate training,
                             double labels_per_answer) {
  training.add("rows of a fold", row_bytes);
  // An example has up to kMaxTimesTrue times as many answers as true labels, and one more. Each is
  // a vector in a piece, and a change.
  const double most = kMaxTimesTrue * counts.labels / std::max(counts.examples, 1.0);
  const double answer = 80 + 4 * (labels_per_answer > 0 ? labels_per_answer : most);
  training.add("answers of the cross-validation", counts.examples * (24 + (1 + most) * answer));
  return training;
}

}  // namespace margrove
