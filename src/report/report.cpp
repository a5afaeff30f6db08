#include "report/report.hpp"

#include <algorithm>
#include <map>

#include "eval/named_metrics.hpp"
#include "eval/paired_tests.hpp"
#include "model/label_texts.hpp"
#include "model/training_set.hpp"
#include "report/report_parts.hpp"

namespace margrove {
namespace {

using detail::ConfusedPair;
using detail::Json;

#include "kReportPage.inc"

constexpr std::string_view kDataMark = "%DATA%";

Json metrics_json(const EvaluatedRows& rows, const LabelSets& predicted) {
  const Metrics metrics = compute_metrics(rows.truth, predicted, rows.hierarchy, rows.in_training);
  Json object{{"examples", metrics.examples}};
  for (const auto& [name, value] : named_values(metrics)) object[std::string(name)] = value;
  return object;
}

/// What the page calls each label: names for people of the nodes of a tree, and names that are
/// unique where labels stand alone.
struct Names {
  std::vector<std::string> in_tree;
  std::vector<std::string> unique;
};

Names names_of(const ReportInputs& inputs) {
  Names names;
  names.in_tree = label_texts(inputs.model, "name").names;
  const LabelCodec& labels = inputs.rows.labels;
  for (std::size_t l = names.in_tree.size(); l < labels.size(); ++l) {
    names.in_tree.push_back(labels.name(static_cast<LabelId>(l)));
  }
  std::map<std::string_view, int> times;
  for (const std::string& name : names.in_tree) ++times[name];
  for (LabelId l = 0; l < labels.size(); ++l) {
    const std::string& name = names.in_tree[l];
    names.unique.push_back(times[name] == 1 ? name : labels.name(l));
  }
  return names;
}

/// How often one of two models alone is right, with the sign test.
Json other_json(const ReportInputs& inputs) {
  if (inputs.other == nullptr) return nullptr;
  const EvaluatedRows& rows = inputs.rows;
  std::int64_t first_only = 0, second_only = 0;
  for (std::size_t i = 0; i < rows.truth.num_rows(); ++i) {
    const bool first = std::ranges::equal(rows.truth[i], rows.predicted[i]);
    const bool second = std::ranges::equal(rows.truth[i], inputs.other->labels[i]);
    first_only += first && !second ? 1 : 0;
    second_only += second && !first ? 1 : 0;
  }
  return {{"name", inputs.other->name},
          {"method", inputs.other->method},
          {"metrics", metrics_json(rows, inputs.other->labels)},
          {"levels", detail::levels_json(rows, inputs.other->labels)},
          {"coverage", detail::coverage_of_other(inputs)},
          {"first_only", first_only},
          {"second_only", second_only},
          {"p_value", sign_test(first_only, second_only).p_value}};
}

Json pairs_json(std::span<const ConfusedPair> pairs) {
  Json list = Json::array();
  for (const ConfusedPair& pair : pairs) {
    list.push_back({{"a", pair.a},
                    {"b", pair.b},
                    {"a_as_b", pair.a_as_b},
                    {"b_as_a", pair.b_as_a},
                    {"rows", pair.rows}});
    for (Json& row : list.back()["rows"]) row = row.get<std::uint32_t>() + 1;
  }
  return list;
}

/// Appends JSON so that no text in it ends the script element.
void append_escaped(std::string_view json, std::string& page) {
  for (const char c : json) {
    if (c == '<') {
      page += "\\u003c";
    } else {
      page += c;
    }
  }
}

}  // namespace

OtherPredictions other_predictions(std::string name, const ModelParts& other, const CsrView& X,
                                   EvaluatedRows& rows, Executor& executor) {
  for (const std::string& label : other.labels.names()) rows.labels.add(label);
  const LabelSets predicted = other.rows().predict(X, executor);
  std::vector<double> confidence;
  if (other.rows().gives_one_label()) {
    confidence = predicted_probabilities(other, X, predicted, executor);
  }
  return {std::move(name), other.method,
          translate_labels(predicted, other.labels, rows.labels).labels, std::move(confidence)};
}

std::string report_json(const ReportInputs& inputs, const ReportOptions& options,
                        Executor& executor) {
  const auto& [model, rows, texts, other] = inputs;
  const std::size_t num_rows = rows.truth.num_rows();
  require(num_rows > 0, "report: there are no rows, but there must be at least one");
  require(texts.empty() || texts.size() == num_rows, "report: there are ", num_rows, " rows and ",
          texts.size(), " texts, but there must be one text per row");
  require(other == nullptr || other->labels.num_rows() == num_rows, "report: there are ", num_rows,
          " rows, but the other model has predictions for another number of rows");
  const Names names = names_of(inputs);
  const std::vector<ConfusedPair> pairs = detail::confused_pairs(rows, options);
  Json option_list = Json::object();
  for (const auto& [name, value] : model.options) option_list[name] = value;
  Json content{
      {"title", options.title},
      {"method", model.method},
      {"options", std::move(option_list)},
      {"has_hierarchy", rows.hierarchy.num_edges() > 0},
      {"one_label", model.rows().gives_one_label()},
      {"metrics", metrics_json(rows, rows.predicted)},
      {"other", other_json(inputs)},
      {"tree", detail::nodes_json(inputs, names.in_tree)},
      {"levels", detail::levels_json(rows, rows.predicted)},
      {"confused", pairs_json(pairs)},
      {"convergence", detail::convergence_json(model.report)},
      {"network", detail::network_json(model)},
      {"examples", detail::examples_json(inputs, names.unique,
                                         detail::example_rows(inputs, pairs, options), options)},
  };
  content.update(detail::confidence_json(inputs, executor));
  return content.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string report_html(const ReportInputs& inputs, const ReportOptions& options,
                        Executor& executor) {
  const std::size_t mark = kReportPage.find(kDataMark);
  std::string page(kReportPage.substr(0, mark));
  append_escaped(report_json(inputs, options, executor), page);
  return page += kReportPage.substr(mark + kDataMark.size());
}

}  // namespace margrove
