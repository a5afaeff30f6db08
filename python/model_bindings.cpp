// The class Model of the extension module: prediction, explanation and files.

#include "model_bindings.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "base/out_of_time.hpp"
#include "io/liblinear_model.hpp"
#include "io/model_file.hpp"
#include "margrove/errors.hpp"
#include "margrove/executor.hpp"
#include "methods/memory_obstacle.hpp"
#include "model/kernel_predictor.hpp"
#include "model/linear_predictor.hpp"
#include "model/log_odds.hpp"
#include "model/raw_units.hpp"
#include "model/sentence_predictor.hpp"
#include "model/tensor_parts.hpp"
#include "model/weight_compression.hpp"
#include "record_bindings.hpp"
#include "report/report.hpp"
#include "reporter.hpp"
#include "text_argument.hpp"
#include "text_bindings.hpp"

namespace margrove::python {
namespace {

using namespace nb::literals;

std::vector<Sentence> predict_sentences(const ModelParts& model,
                                        const std::vector<Sentence>& sentences, int threads) {
  const SentencePredictor& predictor = sentences_of(model);
  const nb::gil_scoped_release released;
  Executor executor(threads);
  RunControl control;
  return predictor.answers({sentences, "X", 0}, executor, control);
}

/// ({metric: value}, [warning]) of FilePredictor::evaluate_file().
std::pair<std::map<std::string, double>, std::vector<std::string>> evaluate_sentences(
    const ModelParts& model, const std::vector<Sentence>& sentences, int threads) {
  const SentencePredictor& predictor = sentences_of(model);
  const nb::gil_scoped_release released;
  Executor executor(threads);
  RunControl control;
  FileEvaluation found = predictor.evaluate_file({sentences, "X", 0}, executor, control);
  std::map<std::string, double> values;
  for (const NamedValue& each : found.values) values[each.name] = each.value;
  return {std::move(values), std::move(found.warnings)};
}

/// Of each word: (word, head, relation, score of the relation or None, whether the arc's score
/// contains it, other heads, other relations), where a head is (number, word, score of the arc) and
/// another relation (name, score).
nb::list explain_sentence(const ModelParts& model, const Sentence& sentence,
                          std::size_t num_others) {
  const auto tuple_of = [](const WordExplanation::Head& head) {
    return nb::make_tuple(head.number, head.word, head.arc);
  };
  RunControl control;
  nb::list words;
  for (const WordExplanation& word : explained_sentences_of(model).explain_sentence(
           {std::span(&sentence, 1), "X", 0}, 1, num_others, control)) {
    nb::list heads, relations;
    for (const auto& head : word.other_heads) heads.append(tuple_of(head));
    for (const auto& other : word.other_relations) {
      relations.append(nb::make_tuple(other.name, other.score));
    }
    words.append(nb::make_tuple(word.word, tuple_of(word.head), word.relation, word.relation_score,
                                word.arc_has_relation, heads, relations));
  }
  return words;
}

nb::tuple predict(const ModelParts& model, const Csr& X, int threads) {
  const CsrView view = view_of(X);
  LabelSets sets;
  {
    const nb::gil_scoped_release released;
    Executor executor(threads);
    sets = model.rows().predict(view, executor);
  }
  return to_python(sets);
}

constexpr std::size_t kRowsPerTask = 64;

nb::object scores(const ModelParts& model, const Csr& X, int threads) {
  const CsrView view = view_of(X);
  const RowPredictor& predictor = model.rows();
  const std::size_t num_labels = predictor.num_labels();
  std::vector<float> all(view.num_rows() * num_labels);
  {
    const nb::gil_scoped_release released;
    Executor executor(threads);
    executor.for_ranges(
        view.num_rows(), kRowsPerTask, [&](std::size_t begin, std::size_t end, int) {
          predictor.scores(view, begin, end,
                           std::span(all).subspan(begin * num_labels, (end - begin) * num_labels));
        });
  }
  return to_numpy(std::move(all), {view.num_rows(), num_labels});
}

nb::tuple top(const ModelParts& model, const Csr& X, std::size_t k, int threads) {
  const CsrView view = view_of(X);
  RankedLabels ranked;
  {
    const nb::gil_scoped_release released;
    Executor executor(threads);
    ranked = model.rows().top(view, k, executor);
  }
  std::vector<std::int64_t> pointers(ranked.pointers.begin(), ranked.pointers.end());
  return nb::make_tuple(to_numpy(std::move(pointers)), to_numpy(std::move(ranked.labels)),
                        to_numpy(std::move(ranked.scores)));
}

/// Rows of p(label | x), or of p(some label at or below node | x).
nb::object probabilities(const ModelParts& model, const Csr& X, bool of_nodes, int threads) {
  if (!model.rows().gives_one_label()) require_probabilities(model);
  const CsrView view = view_of(X);
  const std::size_t num_labels = model.labels.size();
  std::vector<double> all(view.num_rows() * num_labels);
  {
    const nb::gil_scoped_release released;
    const HierarchyProbabilities hierarchy(model.hierarchy);
    Executor executor(threads);
    for_probabilities(model.rows(), model.probability_rule(), of_nodes ? &hierarchy : nullptr, view,
                      executor, [&](std::size_t i, const RowProbabilities& row) {
                        const auto given = of_nodes ? row.nodes : row.labels;
                        std::copy(given.begin(), given.end(), all.begin() + i * num_labels);
                      });
  }
  return to_numpy(std::move(all), {view.num_rows(), num_labels});
}

CsrMatrix copy_of(const CsrView& X) {
  return {X.num_columns(),
          {X.row_pointers().begin(), X.row_pointers().end()},
          {X.columns().begin(), X.columns().end()},
          {X.values().begin(), X.values().end()}};
}

/// The learned kernel between the rows of X and the others. The model must have kernels.
nb::object kernel_values(const ModelParts& model, const Csr& X, const Csr& others,
                         std::optional<double> memory_limit, int threads) {
  const CsrView view = view_of(X);
  const CsrMatrix other_rows = copy_of(view_of(others));
  const std::size_t num_others = other_rows.num_rows();
  std::vector<float> values;
  {
    const nb::gil_scoped_release released;
    Executor executor(threads);
    const CombinedKernel& kernel = model.predictor->kernels()->classifiers();
    const std::string obstacle = memory_obstacle(
        kernel.values_memory(view, other_rows, executor.size()), memory_limit.value_or(0), "it");
    require(obstacle.empty(), "kernel_values of ", view.num_rows(), " x ", num_others,
            " rows: ", obstacle, "; take fewer rows at once");
    values = kernel.values(view, other_rows, executor);
  }
  return to_numpy(std::move(values), {view.num_rows(), num_others});
}

/// The label of each row by HierarchyProbabilities::confident(), or -1.
nb::object confident(const ModelParts& model, const Csr& X, double min_confidence, int threads) {
  const CsrView view = view_of(X);
  std::vector<std::int64_t> chosen(view.num_rows());
  {
    const nb::gil_scoped_release released;
    const HierarchyProbabilities hierarchy(model.hierarchy);
    Executor executor(threads);
    for_probabilities(model.rows(), model.probability_rule(), &hierarchy, view, executor,
                      [&](std::size_t i, const RowProbabilities& row) {
                        const auto label =
                            hierarchy.confident(row.labels, row.nodes, min_confidence);
                        chosen[i] = label ? static_cast<std::int64_t>(*label) : -1;
                      });
  }
  return to_numpy(std::move(chosen));
}

/// The nodes of each row by HierarchyProbabilities::lowest_confident().
nb::tuple lowest_confident(const ModelParts& model, const Csr& X, double min_confidence,
                           int threads) {
  const CsrView view = view_of(X);
  LabelSets sets;
  {
    const nb::gil_scoped_release released;
    const HierarchyProbabilities hierarchy(model.hierarchy);
    Executor executor(threads);
    std::vector<std::vector<LabelId>> lowest(view.num_rows());
    for_probabilities(model.rows(), model.probability_rule(), &hierarchy, view, executor,
                      [&](std::size_t i, const RowProbabilities& row) {
                        lowest[i] = hierarchy.lowest_confident(row.nodes, min_confidence);
                      });
    for (const std::vector<LabelId>& set : lowest) sets.append(set);
  }
  return to_python(sets);
}

void calibrate(ModelParts& model, const Csr& X, const Sets& labels,
               const std::optional<Vector<double>>& row_weights, int threads) {
  const CsrView view = view_of(X);
  const LabelSets truth = sets_of(labels);
  CalibrationRows rows{view, truth};
  if (row_weights) rows.weights = span_of(*row_weights);
  Reporter reporter{nb::none()};
  RunControl control(std::ref(reporter));
  const nb::gil_scoped_release released;
  Executor executor(threads);
  try {
    model.calibration = fit_calibration(model.rows(), model.hierarchy, rows, executor, control);
  } catch (const OutOfTime&) {  // an interruption
    reporter.rethrow();
    throw;
  }
}

/// `labels` are positions in `classes`. `texts` is empty or has one per row. The other model, which
/// may be null, takes the rows as `other_X`.
std::string report_page(const ModelParts& model, const Csr& X, const Sets& labels,
                        const std::vector<std::string>& classes, const std::string& title,
                        int num_examples, const std::vector<std::string>& feature_names,
                        const std::vector<std::string>& texts, const ModelParts* other,
                        const std::string& other_name, const Csr& other_X, int threads) {
  const CsrView view = view_of(X), other_view = view_of(other_X);
  const LabelSets truth = sets_of(labels);
  LabelCodec codec;
  for (const std::string& name : classes) codec.add(name);
  const nb::gil_scoped_release released;
  ReportOptions options{.title = title, .num_examples = num_examples};
  if (!feature_names.empty()) {
    options.feature_name = [&](FeatureId feature) {
      return feature < feature_names.size() ? feature_names[feature] : concat(feature);
    };
  }
  Executor executor(threads);
  EvaluatedRows rows = evaluated_rows(model, copy_of(view), truth, codec, executor);
  std::optional<OtherPredictions> predictions;
  if (other != nullptr) {
    predictions = other_predictions(other_name, *other, other_view, rows, executor);
  }
  return report_html({model, rows, texts, predictions ? &*predictions : nullptr}, options,
                     executor);
}

/// None or (temperature, rows, error, error without calibration, shift).
nb::object calibration_of(const ModelParts& model) {
  if (!model.calibration) return nb::none();
  const Calibration& c = *model.calibration;
  return nb::make_tuple(c.temperature, c.num_rows, c.error, c.error_before, c.shift);
}

/// (weights, offsets, whether trained jointly) of the levels, from the roots down, and the weights
/// of stacked methods; empty arrays where the model has none.
nb::tuple levels(const ModelParts& model) {
  const LinearPredictor* linear = model.predictor->linear();
  const LevelWeights of_model = linear != nullptr ? linear->parts().levels : LevelWeights{};
  return nb::make_tuple(
      to_numpy(std::vector(of_model.factors)), to_numpy(std::vector(of_model.offsets)),
      to_numpy(std::vector(of_model.joint)), to_numpy(std::vector(of_model.stacked)));
}

/// Whether each label may be answered: those of the training rows and, of linear models, those that
/// are answered without rows.
nb::object answerable(const ModelParts& model) {
  std::vector<std::uint8_t> may(model.labels.size(), 0);
  for (std::size_t label = 0; label < model.training_rows.size(); ++label) {
    may[label] = model.training_rows[label] > 0 ? 1 : 0;
  }
  if (const LinearPredictor* linear = model.predictor->linear()) {
    for (const NodeId n : linear->parts().candidates) may[linear->parts().label_of_node[n]] = 1;
  }
  return to_numpy(std::move(may));
}

/// (columns, row pointers, columns of the weights, weights) of U with one row per feature, the
/// bias, the edges between nodes, the label of each node, the nodes that may be predicted, and
/// whether the best of them is predicted (instead of all above a threshold). U is for rows before
/// scaling.
nb::tuple linear_parts(const ModelParts& model) {
  const LinearPredictor* linear = model.predictor->linear();
  require(linear != nullptr, "the model is of method ", model.method, ", but must be linear");
  model.require_own_columns("weights of columns");
  const LinearPredictor::Parts parts = in_raw_units(linear->parts(), model.preprocessing);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (const LabelEdge& edge : edges_of(parts.graph)) edges.emplace_back(edge.parent, edge.child);
  nb::object weights;
  if (parts.weights.is_dense()) {
    const auto values = parts.weights.dense_values();
    weights = to_numpy(std::vector(values.begin(), values.end()),
                       {parts.weights.num_features(), parts.weights.num_nodes()});
  } else {
    weights = to_python(parts.weights.sparse_values());
  }
  return nb::make_tuple(weights, parts.bias, edges_to_numpy(edges),
                        to_numpy(std::vector(parts.label_of_node)),
                        to_numpy(std::vector(parts.candidates)), linear->gives_one_label());
}

/// (label, score, [(label, is spawned, score, [(feature, value, weight, score, centre)])],
///  [(source, score, [(path, weight, score)])])
nb::tuple explain(const ModelParts& model, const Csr& X, std::size_t row, const std::string& label,
                  std::size_t num_features) {
  const CsrView view = view_of(X);
  require(row < view.num_rows(), "row is ", row, ", but X has only ", view.num_rows());
  const auto id = model.labels.find(label);
  require(id.has_value(), "label is '", label, "', but must be a label of the model");
  const Explanation explanation = model.explain(view.row(row), *id, num_features);
  nb::list nodes;
  for (const auto& node : explanation.nodes) {
    nb::list strongest;
    for (const auto& part : node.strongest) {
      strongest.append(
          nb::make_tuple(part.feature, part.value, part.weight, part.score, part.centre));
    }
    nodes.append(
        nb::make_tuple(model.labels.name(node.label), node.is_spawned, node.score, strongest));
  }
  nb::list sources;
  for (const auto& source : explanation.sources) {
    nb::list strongest;
    for (const auto& path : source.strongest) {
      strongest.append(nb::make_tuple(path.name, path.weight, path.score));
    }
    sources.append(nb::make_tuple(source.name, source.score, strongest));
  }
  return nb::make_tuple(model.labels.name(explanation.label), explanation.score, nodes, sources);
}

nb::dict report(const ModelParts& model) {
  const FitReport& r = model.report;
  nb::list curve;
  for (const auto& point : r.curve) {
    curve.append(nb::make_tuple(point.pass, point.primal, point.dual));
  }
  nb::dict result;
  result["stop"] = std::string(to_string(r.stop));
  result["passes"] = r.passes;
  result["primal"] = r.primal;
  result["dual"] = r.dual;
  result["relative_gap"] = r.relative_gap;
  result["curve"] = curve;
  if (!std::isnan(r.name_weight)) result["name_weight"] = r.name_weight;
  if (!std::isnan(r.unseen_score)) result["unseen_score"] = r.unseen_score;
  result["warnings"] = r.warnings;
  return result;
}

/// (lines, Graphviz source, SVG, {product node: weight}) of a kernel model.
nb::tuple network(const ModelParts& model) {
  const KernelPredictor* kernels = model.predictor->kernels();
  require(kernels != nullptr, "network: a model of method ", model.method,
          " has no network, only kernel models have one");
  nb::dict weights;
  const SumProductNetwork& graph = kernels->network();
  for (std::size_t v = 0; v < graph.num_products(); ++v) {
    weights[nb::str(graph.nodes()[graph.products()[v]].name.c_str())] = kernels->beta()[v];
  }
  return nb::make_tuple(kernels->lines(), kernels->dot(), kernels->svg(), weights);
}

/// The support vectors of a kernel model.
nb::tuple kernel_support(const ModelParts& model) {
  const KernelPredictor* kernels = model.predictor->kernels();
  require(kernels != nullptr, "kernel_support: a model of method ", model.method,
          " has none, only kernel models have them");
  return to_python(kernels->support());
}

nb::object model_edges(const ModelParts& model) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (const LabelEdge& edge : edges_of(model.hierarchy)) {
    edges.emplace_back(edge.parent, edge.child);
  }
  return edges_to_numpy(edges);
}

/// `has_kernel_features`: whether they, if the model has some, are the last step.
nb::object preprocessed(const ModelParts& model, const Rows& rows, bool has_kernel_features) {
  const auto X = [&] {
    const nb::gil_scoped_release released;
    return has_kernel_features ? preprocess(model, rows) : preprocess_columns(model, rows);
  };
  return to_python(X());
}

nb::bytes to_bytes(const ModelParts& model) {
  const std::string bytes = serialize_model(model);
  return nb::bytes(bytes.data(), bytes.size());
}

ModelParts of_this_interpreter(ModelParts model) {
  use_this_interpreter(model.preprocessing.vectors);
  if (model.records) use_this_interpreter(model.records->text.vectors);
  return model;
}

ModelParts from_bytes(const nb::bytes& bytes) {
  return of_this_interpreter(parse_model(
      {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "model in memory"));
}

ModelParts compressed_model(const ModelParts& model, double keep, const std::string& precision) {
  const nb::gil_scoped_release release;
  ModelParts copy = model;
  compress(copy, {keep, parse_enum<WeightPrecision>("precision", precision)});
  return copy;
}

}  // namespace

// Longer than 60 lines: the table of what Python sees of a model.
void bind_model(nb::module_& m) {
  m.def("import_liblinear", &import_liblinear, "path"_a);
  nb::class_<ModelParts>(m, "Model")
      .def_static(
          "load", [](const std::string& path) { return of_this_interpreter(load_model(path)); },
          "path"_a)
      .def("save", &save_model, "path"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("__init__", [](ModelParts* model,
                          const nb::bytes& bytes) { new (model) ModelParts(from_bytes(bytes)); })
      .def("__reduce__",  // a call of the class restores it, which skops allows
           [](nb::handle_t<ModelParts> model) {
             const nb::bytes bytes = to_bytes(nb::cast<const ModelParts&>(model));
             return nb::make_tuple(model.type(), nb::make_tuple(bytes));
           })
      .def("__setstate__",  // of pickles by version 0.2 and older
           [](ModelParts& model, const nb::bytes& bytes) {
             new (&model) ModelParts(from_bytes(bytes));
           })
      .def_ro("method", &ModelParts::method)
      .def_prop_ro("options",
                   [](const ModelParts& model) {
                     return std::map<std::string, std::string>(model.options.begin(),
                                                               model.options.end());
                   })
      .def_prop_ro("labels",
                   [](const ModelParts& model) {
                     const auto names = model.labels.names();
                     return std::vector<std::string>(names.begin(), names.end());
                   })
      .def_prop_ro("alternatives",
                   [](const ModelParts& model) { return alternatives_of(model.labels); })
      .def_ro("has_hierarchy", &ModelParts::has_hierarchy)
      .def_prop_ro("has_state", [](const ModelParts& model) { return model.state != nullptr; })
      .def_prop_ro("views",
                   [](const ModelParts& model) {
                     nb::list views;
                     for (const auto& view : model.views) {
                       views.append(nb::make_tuple(view.name, view.begin, view.end));
                     }
                     return views;
                   })
      .def_prop_ro("network", &network)
      .def_prop_ro("kernel_support", &kernel_support)
      .def_prop_ro("edges", &model_edges)
      .def_prop_ro("answerable", &answerable)
      .def_prop_ro("training_rows",
                   [](const ModelParts& model) { return to_numpy(model.training_rows); })
      .def_prop_ro("report", &report)
      .def_prop_ro("facts",
                   [](const ModelParts& model) {
                     std::vector<std::pair<std::string, std::string>> facts;
                     for (const auto& [name, value] : model.predictor->facts()) {
                       facts.emplace_back(name, value);
                     }
                     return facts;
                   })
      .def_prop_ro("num_features", &ModelParts::num_raw_features)
      .def_prop_ro(
          "preprocessing",
          [](const ModelParts& model) { return std::string(name_of(model.preprocessing.kind)); })
      .def_prop_ro("record_selection", &record_selection)
      .def_prop_ro("vector_share",
                   [](const ModelParts& model) -> std::optional<double> {
                     const bool has_vectors =
                         model.records && !model.records->vector_widths.empty();
                     return has_vectors ? std::optional(model.records->vector_share) : std::nullopt;
                   })
      .def_prop_ro("kernel_features",  // and their gamma
                   [](const ModelParts& model) {
                     using Features = std::optional<std::pair<std::string, double>>;
                     if (!model.kernel_features) return Features();
                     const KernelFeatures& made = *model.kernel_features;
                     return Features({made.choice().to_text(), made.gamma});
                   })
      .def_prop_ro("has_learned_kernel",  // its kernel features
                   [](const ModelParts& model) {
                     return model.kernel_features && model.kernel_features->learned;
                   })
      .def_prop_ro("keeps_rows",
                   [](const ModelParts& model) {
                     return model.preprocessing.keeps_rows() && !model.kernel_features;
                   })
      .def_prop_ro("vocabulary",
                   [](const ModelParts& model) { return term_names(model.preprocessing); })
      .def(
          "preprocess",
          [](const ModelParts& model, const Records& records, bool kernel_features) {
            return preprocessed(model, records.rows(), kernel_features);
          },
          "rows"_a, "kernel_features"_a = true)
      .def(
          "preprocess",
          [](const ModelParts& model, const Csr& X, bool kernel_features) {
            return preprocessed(model, view_of(X), kernel_features);
          },
          "rows"_a, "kernel_features"_a = true)
      .def(
          "preprocess",
          [](const ModelParts& model, const nb::object& documents, bool kernel_features) {
            const TextArgument texts(documents);
            return preprocessed(model, texts.views(), kernel_features);
          },
          "rows"_a, "kernel_features"_a = true)
      .def("feature_name", &ModelParts::feature_name, "feature"_a)
      .def("export_liblinear", &export_liblinear, "path"_a)
      .def("compressed", &compressed_model, "keep"_a, "precision"_a)
      .def_prop_ro("is_of_files",
                   [](const ModelParts& model) { return model.predictor->files() != nullptr; })
      .def_prop_ro("gives_one_label",
                   [](const ModelParts& model) { return model.rows().gives_one_label(); })
      .def_ro("token_keys", &ModelParts::token_keys)
      .def("predict_sentences", &predict_sentences, "sentences"_a, "threads"_a)
      .def("evaluate_sentences", &evaluate_sentences, "sentences"_a, "threads"_a)
      .def("explain_sentence", &explain_sentence, "sentence"_a, "num_others"_a)
      .def_prop_ro("calibration", &calibration_of)
      .def_prop_ro("levels", &levels)
      .def_prop_ro("linear_parts", &linear_parts)
      .def("calibrate", &calibrate, "X"_a.noconvert(), "labels"_a.noconvert(),
           "row_weights"_a.noconvert().none(), "threads"_a)
      .def("probabilities", &probabilities, "X"_a.noconvert(), "of_nodes"_a, "threads"_a)
      .def("kernel_values", &kernel_values, "X"_a.noconvert(), "others"_a.noconvert(),
           "memory_limit"_a.none(), "threads"_a)
      .def("confident", &confident, "X"_a.noconvert(), "min_confidence"_a, "threads"_a)
      .def("lowest_confident", &lowest_confident, "X"_a.noconvert(), "min_confidence"_a,
           "threads"_a)
      .def_prop_ro("gives_probabilities", &gives_probabilities)
      .def("report_page", &report_page, "X"_a.noconvert(), "labels"_a.noconvert(), "classes"_a,
           "title"_a, "num_examples"_a, "feature_names"_a, "texts"_a, "other"_a.none(),
           "other_name"_a, "other_X"_a.noconvert(), "threads"_a)
      .def("predict", &predict, "X"_a.noconvert(), "threads"_a)
      .def("scores", &scores, "X"_a.noconvert(), "threads"_a)
      .def("top", &top, "X"_a.noconvert(), "k"_a, "threads"_a)
      .def("explain", &explain, "X"_a.noconvert(), "row"_a, "label"_a, "num_features"_a);
}

}  // namespace margrove::python
