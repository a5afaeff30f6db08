#include "io/model_facts.hpp"

#include <algorithm>
#include <cmath>

#include "io/model_file.hpp"
#include "kernel/network_drawing.hpp"
#include "model/tensor_parts.hpp"

namespace margrove {
namespace {

/// The terms of texts and their weights.
void append_terms(std::vector<Fact>& facts, const Preprocessing& fitted) {
  const bool has_words = fitted.terms.are_words();
  if (!fitted.vocabulary.empty()) {
    facts.push_back(
        {"vocabulary", concat(fitted.vocabulary.size(), has_words ? " words" : " terms")});
  }
  if (fitted.terms.num_hashes > 0) {
    facts.push_back({"hashed terms", concat(fitted.hashes.size(), " columns of ",
                                            fitted.terms.num_hashes, ", without names")});
  }
  if (!has_words) {
    facts.push_back({"n-grams of words", fitted.terms.words.to_text()});
    facts.push_back({"n-grams of characters", fitted.terms.characters.to_text()});
    facts.push_back({"stop words", concat(fitted.terms.stop_words.size())});
  }
  const TextTerms defaults;
  if (fitted.terms.normal_form != defaults.normal_form) {
    facts.push_back({"normal form", std::string(name_of(fitted.terms.normal_form))});
  }
  if (fitted.terms.casing != defaults.casing) {
    facts.push_back({"casing", std::string(name_of(fitted.terms.casing))});
  }
  if (!fitted.terms.stem.is_none()) facts.push_back({"stems", fitted.terms.stem.language});
  if (fitted.vectors.width() > 0) {
    const TextEncoder::Facts& encoder = fitted.vectors.facts;
    facts.push_back({"vectors", concat(encoder.name, ", ", encoder.width, " columns, share ",
                                       fitted.vectors.share, ", digest ", encoder.digest)});
  }
  if (fitted.term_weights == TextTerms::Weights::bm25) {
    facts.push_back({"term weights", concat("bm25, k1 ", fitted.bm25_k1, ", b ", fitted.bm25_b,
                                            ", average length ", fitted.average_length)});
  }
}

/// Each name once, with the number of times if it is there several times.
std::vector<std::string> counted(const std::vector<std::string>& names) {
  std::vector<std::string> each;
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(names.begin(), name, *name) != name) continue;
    const auto times = std::count(names.begin(), names.end(), *name);
    each.push_back(times == 1 ? *name : concat(*name, " (", times, " times)"));
  }
  return each;
}

void append_facts(std::vector<Fact>& facts, const RecordFeatures& records) {
  const RecordSelection& selection = records.selection;
  const auto add = [&](const char* name, const std::vector<std::string>& columns) {
    if (!columns.empty()) facts.push_back({name, detail::join(columns, ", ")});
  };
  add("text columns", counted(selection.text));
  append_terms(facts, records.text);
  add("numeric columns", selection.numeric);
  add("categorical columns", selection.categorical);
  if (!selection.vectors.empty()) {
    facts.push_back({"vector columns", concat(records.vector_name(), ", ", records.vector_width(),
                                              " numbers, share ", records.vector_share)});
  }
  add("path columns", selection.path_levels);
  if (!selection.path.empty()) facts.push_back({"path column", selection.path});
  if (!selection.label.empty()) facts.push_back({"label column", selection.label});
}

void append_facts(std::vector<Fact>& facts, const KernelFeatures& features) {
  facts.push_back({"kernel features", features.choice().to_text()});
  if (!features.learned) {
    facts.push_back({"gamma of kernel features", concat(features.gamma)});
    return;
  }
  const LearnedKernel& learned = *features.learned;
  facts.push_back(
      {"kernel of kernel features", concat("learned, ", learned.kernels.size(), " kernels on ",
                                           learned.paths.size(), " paths")});
  for (const std::string& line : network_lines(learned.network, learned.beta)) {
    facts.push_back({"network of kernel features", line});
  }
}

/// The names that rows can have, inner nodes included, and how many of them are inner nodes.
std::string number_of_labels(const ModelParts& model) {
  std::size_t num_inner = 0;
  for (NodeId node = 0; model.has_hierarchy && node < model.hierarchy.num_nodes(); ++node) {
    num_inner += model.hierarchy.is_leaf(node) ? 0 : 1;
  }
  const std::size_t all = model.labels.size();
  if (num_inner == 0) return concat(all);
  return concat(all, " (", all - num_inner, " leaves, ", num_inner,
                num_inner == 1 ? " inner node)" : " inner nodes)");
}

}  // namespace

std::vector<Fact> model_facts(const ModelParts& model) {
  std::vector<Fact> facts{{"method", model.method},
                          {"kind", std::string(model.predictor->kind())},
                          {"format version", concat(format_version_of(model))}};
  for (const auto& [name, value] : model.options) facts.push_back({"option " + name, value});
  facts.push_back({"labels", number_of_labels(model)});
  if (model.predictor->rows() != nullptr) {
    facts.push_back({"labels with training rows",
                     concat(std::count_if(model.training_rows.begin(), model.training_rows.end(),
                                          [](std::uint32_t rows) { return rows > 0; }))});
  }
  if (model.has_hierarchy) {
    const LabelGraph& graph = model.hierarchy;
    facts.push_back(
        {"hierarchy", concat(graph.is_tree() ? "tree" : "graph", " of ", graph.num_nodes(),
                             " nodes and ", graph.num_edges(), " edges")});
  } else {
    facts.push_back({"hierarchy", "none"});
  }
  if (model.records) append_facts(facts, *model.records);
  facts.push_back({"preprocessing", std::string(name_of(model.preprocessing.kind))});
  if (!model.preprocessing.columns.empty()) {
    facts.push_back({"columns in use",
                     concat(model.preprocessing.columns.size(), " of ", model.num_raw_features())});
  }
  if (model.preprocessing.kind == Preprocessing::Kind::scale) {
    facts.push_back({"scale", std::string(name_of(model.preprocessing.column_scale))});
  }
  append_terms(facts, model.preprocessing);
  if (model.kernel_features) {
    append_facts(facts, *model.kernel_features);
  }
  const FitReport& report = model.report;
  facts.push_back({"stop", std::string(to_string(report.stop))});
  facts.push_back({"passes", concat(report.passes)});
  if (has_rounds_of_passes(report)) facts.push_back({"rounds", concat(report.curve.size())});
  const auto add_if_known = [&](const char* name, double value) {
    if (std::isfinite(value)) facts.push_back({name, concat(value)});
  };
  add_if_known("objective", report.primal);
  add_if_known("dual", report.dual);
  add_if_known("relative gap", report.relative_gap);
  add_if_known("weight of names", report.name_weight);
  add_if_known("score without rows", report.unseen_score);
  if (model.calibration) {
    add_if_known("temperature", model.calibration->temperature);
    if (!model.rows().gives_one_label()) add_if_known("shift", model.calibration->shift);
    facts.push_back({"calibration rows", concat(model.calibration->num_rows)});
    add_if_known("calibration error", model.calibration->error);
    add_if_known("calibration error at temperature 1", model.calibration->error_before);
  }
  const std::vector<Fact> of_kind = model.predictor->facts();
  facts.insert(facts.end(), of_kind.begin(), of_kind.end());
  return facts;
}

}  // namespace margrove
