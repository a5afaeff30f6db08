#include "eval/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "data/label_words.hpp"
#include "data/row_formats.hpp"
#include "margrove/errors.hpp"
#include "margrove/options.hpp"

namespace margrove {
namespace {

// Above so many rows, its default, kernel ridge regression takes landmarks, and no kernel machine
// is tried.
constexpr std::size_t kMaxRowsOfKernelMatrix = 20'000;
constexpr std::size_t kMaxLabelsOfKernelSvm = 200;

/// A variant for rows with texts and labels with names.
OptionValues match_names() { return {{"match_names", "true"}}; }

/// Why a candidate cannot be tried, as the end of a sentence; empty if it can.
using Obstacle = std::string (*)(const DataFacts& facts);

std::string none(const DataFacts&) { return {}; }

std::string of_single_labels(const DataFacts& facts) {
  return facts.has_several_labels ? "it is for rows with one label each" : "";
}

std::string of_hierarchies(const DataFacts& facts) {
  return facts.has_hierarchy ? "" : "it needs a hierarchy";
}

std::string of_hierarchies_with_single_labels(const DataFacts& facts) {
  const std::string needs = of_hierarchies(facts);
  return needs.empty() ? of_single_labels(facts) : needs;
}

std::string of_trees(const DataFacts& facts) {
  if (!facts.has_hierarchy) return "it needs a hierarchy";
  return facts.is_tree ? "" : "it is tried on trees, but a node has several parents";
}

/// With fewer labels a tree has few levels, and with many labels a row is in most of its branches.
std::string of_many_rare_labels(const DataFacts& facts) {
  constexpr std::size_t kLeast = 1000;
  constexpr double kMostOfRow = 10;
  if (facts.num_labels < kLeast) return concat("it is tried for at least ", kLeast, " labels");
  if (facts.labels_of_row <= kMostOfRow) return {};
  return concat("it is tried for rows with up to ", kMostOfRow, " labels");
}

std::string of_few_rows_with_single_labels(const DataFacts& facts) {
  if (facts.has_several_labels) return "it is for rows with one label each";
  if (facts.num_labels > kMaxLabelsOfKernelSvm) {
    return concat("it is tried for up to ", kMaxLabelsOfKernelSvm, " labels");
  }
  if (facts.num_rows <= kMaxRowsOfKernelMatrix) return {};
  return concat("it is tried for up to ", kMaxRowsOfKernelMatrix, " rows");
}

struct Registered {
  CandidateRun candidate;
  Obstacle obstacle;
};

const std::vector<Registered>& registry() {
  const OptionValues squared{{"loss", "squared-hinge"}}, hinge{{"loss", "hinge"}};
  const OptionValues softmax{{"multiclass", "softmax"}};
  const auto alpha = [](const char* rule) { return OptionValues{{"alpha", rule}}; };
  const OptionValues names = match_names();
  static const std::vector<Registered> all{
      {{"flat-svm", squared, {names}, 0.8, 0.5}, none},
      {{"flat-svm", hinge, {}}, none},
      {{"flat-lr", {}, {names}}, none},
      {{"flat-svm", {{"multiclass", "crammer-singer"}}, {}}, of_single_labels},
      {{"flat-lr", softmax, {}}, of_single_labels},
      {{"top-down-svm", squared, {{{"beam", "4"}}}, 1, 0}, of_trees},
      {{"label-trees", {}, {{{"trees", "6"}}}, 1, 0}, of_many_rare_labels},
      {{"level-svm", squared, {}, 0.8, 0.5}, of_hierarchies},
      {{"nhsvm", {}, {alpha("maxmin"), alpha("leaves")}}, of_hierarchies},
      {{"hsvm", {}, {}}, of_hierarchies},
      {{"hr-svm", squared, {alpha("power:2"), alpha("maxmin")}}, of_hierarchies},
      {{"hr-svm", hinge, {alpha("power:2"), alpha("maxmin")}}, of_hierarchies},
      {{"hr-lr", {}, {alpha("power:2"), alpha("maxmin")}}, of_hierarchies},
      {{"hr-lr", softmax, {}}, of_hierarchies_with_single_labels},
      {{"kernel-ridge", {}, {}, 2, 0, kMaxRowsOfKernelMatrix}, none},
      {{"average-mkl", {}, {}, 2, 0}, of_few_rows_with_single_labels},
  };
  return all;
}

std::string of_unlabelled_rows(const CandidateRun& candidate, const DataFacts& facts) {
  if (facts.unlabelled != LabelSets::Unlabelled::keep) return {};
  const Method& method = find_method(candidate.method);
  const auto run = method.start();
  set_options(run->options(), candidate.options);
  const std::string obstacle = obstacle_of_empty_sets(method, run->options());
  return obstacle.empty() ? "" : "it " + obstacle;
}

}  // namespace

std::vector<std::size_t> strengths_around(double C) {
  constexpr std::size_t kTenfold = 2;  // places
  std::size_t nearest = 0;
  const auto distance = [&](std::size_t place) {
    return std::abs(std::log(C / detail::parse_number("C", kStrengths[place])));
  };
  for (std::size_t place = 1; place < kStrengths.size(); ++place) {
    if (distance(place) < distance(nearest)) nearest = place;
  }
  std::vector<std::size_t> places{nearest};
  if (nearest >= kTenfold) places.push_back(nearest - kTenfold);
  if (nearest + kTenfold < kStrengths.size()) places.push_back(nearest + kTenfold);
  return places;
}

std::string named_with_options(const std::string& method, const OptionValues& options) {
  std::string text = method;
  for (const auto& [name, value] : options) {
    std::string dashed = name;
    std::ranges::replace(dashed, '_', '-');
    text += concat(" --", dashed);
    if (value != "true") text += concat(" ", value);
  }
  return text;
}

std::string CandidateRun::name() const { return named_with_options(method, options); }

namespace {

bool has_texts(const Examples& raw) {
  return info_of(raw.kind).are_texts || !raw.selection.text.empty();
}

bool has_names(const Examples& raw, const Hierarchy* hierarchy) {
  const std::vector<std::string> names =
      hierarchy != nullptr ? names_of_labels(hierarchy->codec, hierarchy->names,
                                             hierarchy->other_names, &raw.selection)
                           : names_of_labels(raw.codec, {}, {}, &raw.selection);
  return !std::ranges::all_of(names, &std::string::empty);
}

}  // namespace

DataFacts facts_of(const Examples& raw, const Hierarchy* hierarchy) {
  DataFacts facts;
  facts.has_names = has_texts(raw) && has_names(raw, hierarchy);
  facts.num_rows = raw.num_rows();
  facts.unlabelled = raw.labels.unlabelled();
  facts.has_several_labels = facts.unlabelled == LabelSets::Unlabelled::keep;
  std::set<LabelId> labels;
  std::size_t num_labelled = 0;
  for (std::size_t i = 0; i < raw.labels.num_rows(); ++i) {
    const auto set = raw.labels[i];
    facts.has_several_labels |= set.size() > 1;
    num_labelled += set.empty() ? 0 : 1;
    labels.insert(set.begin(), set.end());
  }
  facts.num_labels = labels.size();
  if (num_labelled > 0) {
    facts.labels_of_row =
        static_cast<double>(raw.labels.num_labels_total()) / static_cast<double>(num_labelled);
  }
  facts.has_hierarchy = hierarchy != nullptr && !hierarchy->is_flat;
  if (facts.has_hierarchy) {
    std::set<NodeId> children;
    facts.is_tree = true;
    for (const auto& [parent, child] : hierarchy->edges) {
      facts.is_tree = facts.is_tree && children.insert(child).second;
    }
  }
  return facts;
}

Candidates candidates_for(const DataFacts& facts) {
  Candidates candidates;
  for (const auto& [candidate, obstacle] : registry()) {
    std::string reason = obstacle(facts);
    if (reason.empty()) reason = of_unlabelled_rows(candidate, facts);
    if (reason.empty()) {
      CandidateRun& added = candidates.all.emplace_back(candidate);
      if (!facts.has_names) std::erase(added.variants, match_names());
    } else {
      candidates.left_out.push_back({candidate.name(), std::move(reason)});
    }
  }
  return candidates;
}

}  // namespace margrove
