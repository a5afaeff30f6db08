#include "methods/labelled_rows.hpp"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace margrove {
namespace {

/// Whether a row without a label has a missing one. Otherwise it has the empty set.
bool may_miss_labels(const LabelSets& labels) {
  return labels.unlabelled() == LabelSets::Unlabelled::drop || labels.single_label();
}

/// The rows with a label, if those of others are missing; otherwise nothing.
std::vector<std::uint32_t> rows_with_label(const LabelSets& labels) {
  if (!may_miss_labels(labels)) return {};
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < labels.num_rows(); ++i) {
    if (!labels[i].empty()) rows.push_back(i);
  }
  return rows.size() == labels.num_rows() ? std::vector<std::uint32_t>() : rows;
}

std::string left_out(const std::string& source, std::size_t kept, std::size_t all) {
  return concat(source, ": ", all - kept, " of ", all, " rows have no label and were left out");
}

/// Some rows of a training set.
struct PartOfRows {
  CsrMatrix X;
  LabelSets labels;
  std::vector<double> row_weights;
};

Plan plan_of_part(MethodRun& run, const TrainingSet& all, const std::vector<std::uint32_t>& rows,
                  Executor& executor, RunControl& control) {
  auto part = std::make_shared<PartOfRows>();
  part->X = select_rows(all.X, rows);
  part->labels = select_rows(*all.labels, rows);
  if (!all.row_weights.empty()) {
    for (const std::uint32_t i : rows) part->row_weights.push_back(all.row_weights[i]);
  }
  TrainingSet data = all;
  data.X = part->X;
  data.labels = &part->labels;
  data.row_weights = part->row_weights;
  Plan plan = run.plan(data, executor, control);
  plan.memory.add("rows with a label", 8.0 * static_cast<double>(part->X.num_nonzeros()));
  const std::string warning = left_out(all.source, rows.size(), all.labels->num_rows());
  const auto warned = [part, warning](TrainResult result) {
    result.report.warnings.insert(result.report.warnings.begin(), warning);
    return result;
  };
  plan.train = [warned, train = plan.train](Executor& threads, RunControl& share) {
    return warned(train(threads, share));
  };
  if (plan.finish) {
    plan.finish = [warned, finish = plan.finish](const LabelFitSource& source, Executor& threads,
                                                 RunControl& share) {
      return warned(finish(source, threads, share));
    };
    plan.problems = [part, problems = plan.problems] { return problems(); };
  }
  return plan;
}

}  // namespace

void validate_on_labelled(std::span<Split> splits, const LabelSets& labels) {
  if (!may_miss_labels(labels)) return;
  for (Split& split : splits) {
    std::vector<std::uint32_t> rows = split.validation;
    std::erase_if(rows, [&](std::uint32_t row) { return labels[row].empty(); });
    if (!rows.empty()) split.validation = std::move(rows);
  }
}

Plan plan_labelled_rows(MethodRun& run, const TrainingSet& data, Executor& executor,
                        RunControl& control) {
  const std::vector<std::uint32_t> labelled =
      data.labels == nullptr ? std::vector<std::uint32_t>() : rows_with_label(*data.labels);
  if (labelled.empty()) return run.plan(data, executor, control);
  return plan_of_part(run, data, labelled, executor, control);
}

std::string leave_out_unlabelled(Examples& raw) {
  const std::vector<std::uint32_t> labelled = rows_with_label(raw.labels);
  if (labelled.empty()) return {};
  std::string warning = left_out(raw.source, labelled.size(), raw.num_rows());
  raw = select_rows(raw, labelled);
  return warning;
}

}  // namespace margrove
