// The extension module margrove._core: converts arguments and results and releases the GIL.
// Everything else is in the library or in the package's Python files.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "choice_bindings.hpp"
#include "eval/held_out.hpp"
#include "eval/report.hpp"
#include "io/liblinear_model.hpp"
#include "io/model_file.hpp"
#include "io/shards.hpp"
#include "margrove/errors.hpp"
#include "margrove/executor.hpp"
#include "margrove/hierarchy_reader.hpp"
#include "methods/registry.hpp"
#include "methods/training.hpp"
#include "metrics_bindings.hpp"
#include "model/class_weights.hpp"
#include "model/kernel_predictor.hpp"
#include "model/linear_predictor.hpp"
#include "model/raw_units.hpp"
#include "model/tensor_parts.hpp"
#include "model/weight_compression.hpp"
#include "outputs/registry.hpp"
#include "record_bindings.hpp"
#include "reporter.hpp"
#include "score_loss_bindings.hpp"
#include "structured_bindings.hpp"
#include "text_bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace margrove::python {
namespace {

// Training ----------------------------------------------------------------------------------------

Preprocessing fitted_scale(const Method& method, const OptionTable& options,
                           const std::string& scale, const CsrView& X,
                           const std::optional<Vector<double>>& row_weights) {
  PreprocessingOptions asked;
  asked.scale = parse_enum<ColumnScale>("scale", scale);
  return Preprocessing::fit_columns(
      X, preprocessing_for(method, options, asked).scale,
      row_weights ? span_of(*row_weights) : std::span<const double>{});
}

using NamedRanges = std::vector<std::tuple<std::string, std::uint32_t, std::uint32_t>>;

std::vector<View> views_of(const NamedRanges& ranges, std::size_t num_columns) {
  std::vector<View> views;
  for (const auto& [name, begin, end] : ranges) views.push_back({name, begin, end});
  check_views(views);
  require(views.empty() || views.back().end == num_columns, "views: they end at column ",
          views.empty() ? 0 : views.back().end, ", but X has ", num_columns);
  return views;
}

/// What train() and plan_shards() take alike.
struct TrainingInput {
  const std::string& method;
  const std::map<std::string, std::string>& options;
  const Csr& X;
  const Sets& labels;
  const std::vector<std::string>& names;
  const std::optional<Edges>& hierarchy;
  const std::optional<Vector<double>>& row_weights;
  const NamedRanges& views;
  const std::string& scale;
  const ModelParts* start = nullptr;
  bool keep_state = false;
  bool expect_all = false;
};

/// Prepares the input and calls use(method, run, data, preprocessing) without the GIL.
template <class Use>
void with_training_set(const TrainingInput& input, const Use& use) {
  CsrView view = view_of(input.X);
  const Method& method = find_method(input.method);
  const auto run = method.start();
  set_options(run->options(), OptionValues(input.options.begin(), input.options.end()));
  const auto& row_weights = input.row_weights;
  const nb::gil_scoped_release released;
  std::optional<Hierarchy> graph;
  if (input.hierarchy) graph = hierarchy_of(*input.hierarchy);
  const LabelledRows rows =
      label_rows(sets_of(input.labels), LabelCodec(input.names), graph ? &*graph : nullptr, "y");
  require(rows.labels.num_rows() == view.num_rows(), "y: it has ", rows.labels.num_rows(),
          " rows, but must have ", view.num_rows(), " as X");
  require(!row_weights || row_weights->size() == view.num_rows(), "sample_weight: it has ",
          row_weights ? row_weights->size() : 0, " values, but must have ", view.num_rows(),
          " as X has rows");
  const Preprocessing preprocessing =
      input.start != nullptr && input.expect_all  // partial_fit: weights of columns of this scale
          ? input.start->preprocessing
          : fitted_scale(method, run->options(), input.scale, view, row_weights);
  const CsrMatrix scaled =
      preprocessing.kind == Preprocessing::Kind::scale ? preprocessing.apply(view) : CsrMatrix();
  if (preprocessing.kind == Preprocessing::Kind::scale) view = scaled;
  TrainingSet data{.X = view, .labels = &rows.labels, .codec = &rows.codec, .source = "X"};
  if (rows.has_hierarchy) data.hierarchy = &rows.hierarchy;
  const std::vector<View> sources = views_of(input.views, view.num_columns());
  data.views = sources;
  if (row_weights) data.row_weights = span_of(*row_weights);
  data.continuation = {.start = input.start != nullptr ? input.start->state.get() : nullptr,
                       .keep = input.keep_state};
  std::vector<LabelId> expected;
  if (input.expect_all) {
    for (const std::string& name : input.names) expected.push_back(rows.codec.find(name).value());
  }
  data.expected_labels = expected;
  use(method, *run, data, preprocessing);
}

ModelParts train(const std::string& method_name, const std::map<std::string, std::string>& options,
                 const Csr& X, const Sets& labels, const std::vector<std::string>& names,
                 const std::optional<Edges>& hierarchy,
                 const std::optional<Vector<double>>& row_weights, int threads,
                 std::optional<double> time_limit_seconds, std::optional<double> memory_limit,
                 double calibration, nb::object callback, const NamedRanges& views,
                 const ModelParts* start, bool keep_state, bool expect_all,
                 const std::string& scale) {
  Reporter reporter(std::move(callback));
  std::optional<ModelParts> model;
  with_training_set(
      {method_name, options, X, labels, names, hierarchy, row_weights, views, scale, start,
       keep_state, expect_all},
      [&](const Method& method, MethodRun& run, const TrainingSet& data,
          const Preprocessing& preprocessing) {
        Executor executor(threads);
        RunControl control(std::ref(reporter),
                           time_limit_seconds.value_or(std::numeric_limits<double>::infinity()));
        if (calibration > 0) require_calibratable(run, data);
        const Plan plan = plan_training(method, run, data, executor, control);
        require_memory(plan, data, memory_limit.value_or(0));
        model = reporter.train(
            [&] { return train_model(method, run, plan, data, preprocessing, executor, control); });
        if (calibration > 0) {
          model->calibration =
              calibrate_held_out(method, run, data, calibration, executor, control);
        }
      });
  reporter.rethrow();
  return std::move(*model);
}

// Shards ------------------------------------------------------------------------------------------

void plan_shards(const std::string& folder, std::size_t num_shards, const std::string& method_name,
                 const std::map<std::string, std::string>& options, const Csr& X,
                 const Sets& labels, const std::vector<std::string>& names,
                 const std::optional<Edges>& hierarchy,
                 const std::optional<Vector<double>>& row_weights,
                 std::optional<double> memory_limit, const NamedRanges& views,
                 const std::string& scale) {
  with_training_set(
      {method_name, options, X, labels, names, hierarchy, row_weights, views, scale},
      [&](const Method& method, MethodRun& run, const TrainingSet& data,
          const Preprocessing& preprocessing) {
        RunControl control;
        const Plan plan = plan_training(method, run, data, Executor::serial(), control);
        require_memory(plan, data, memory_limit.value_or(0));
        margrove::plan_shards(method, run, plan, data, preprocessing, num_shards, folder);
      });
}

std::string shard_state(const ShardedTraining& training, std::size_t shard) {
  const nb::gil_scoped_release released;
  switch (training.state(shard)) {
    case ShardState::missing:
      return "missing";
    case ShardState::finished:
      return "finished";
    case ShardState::damaged:
      break;
  }
  return "damaged";
}

void train_shard(const ShardedTraining& training, std::size_t shard, int threads,
                 nb::object callback) {
  Reporter reporter(std::move(callback));
  {
    const nb::gil_scoped_release released;
    Executor executor(threads);
    RunControl control(std::ref(reporter));
    training.train(shard, executor, control);
  }
  reporter.rethrow();
}

nb::dict shard_summary(const ShardedTraining& training, std::size_t shard) {
  const ShardSummary summary = training.summary(shard);
  nb::dict result;
  result["labels"] = summary.num_labels;
  result["primal"] = summary.primal;
  result["dual"] = summary.dual;
  result["seconds"] = summary.seconds;
  result["threads"] = summary.threads;
  result["bytes"] = summary.bytes;
  return result;
}

ModelParts merge_shards(const ShardedTraining& training, int threads) {
  Reporter reporter{nb::none()};
  std::optional<ModelParts> model;
  {
    const nb::gil_scoped_release released;
    Executor executor(threads);
    RunControl control(std::ref(reporter));
    model = reporter.train([&] { return training.merge(executor, control); });
  }
  reporter.rethrow();
  return std::move(*model);
}

/// For methods with their own file format.
ModelParts train_file(const std::string& method_name,
                      const std::map<std::string, std::string>& options, const std::string& path,
                      int threads, std::optional<double> time_limit_seconds,
                      std::optional<double> memory_limit, nb::object callback) {
  const Method& method = find_method(method_name);
  const auto run = method.start();
  set_options(run->options(), OptionValues(options.begin(), options.end()));
  Reporter reporter(std::move(callback));
  std::optional<ModelParts> model;
  {
    const nb::gil_scoped_release released;
    const auto examples =
        method.read_examples ? method.read_examples({path}, run->options()) : nullptr;
    require(examples != nullptr, "method ", method_name, " with these options takes rows");
    TrainingSet data;
    data.examples = examples.get();
    data.source = "X";
    Executor executor(threads);
    RunControl control(std::ref(reporter),
                       time_limit_seconds.value_or(std::numeric_limits<double>::infinity()));
    const Plan plan = plan_training(method, *run, data, executor, control);
    require_memory(plan, data, memory_limit.value_or(0));
    model = reporter.train(
        [&] { return train_model(method, *run, plan, data, {}, executor, control); });
  }
  reporter.rethrow();
  return std::move(*model);
}

/// (rows, their weights) or None: see margrove::merge_equal_rows.
nb::object merge_equal_rows(const Csr& X, const Sets& labels,
                            const std::optional<Vector<double>>& row_weights) {
  const CsrView view = view_of(X);
  std::optional<MergedRows> merged;
  {
    const nb::gil_scoped_release released;
    merged = margrove::merge_equal_rows(
        view, sets_of(labels), row_weights ? span_of(*row_weights) : std::span<const double>{});
  }
  if (!merged) return nb::none();
  return nb::make_tuple(to_numpy(std::move(merged->rows)),
                        to_numpy(std::move(merged->row_weights)));
}

/// Row weights times those of the classes (None: balanced), which are checked.
nb::object weigh_by_class(const Sets& labels, std::size_t num_classes,
                          const std::optional<Vector<double>>& class_weights,
                          const std::optional<Vector<double>>& row_weights) {
  const LabelSets sets = sets_of(labels);
  const auto given = row_weights ? span_of(*row_weights) : std::span<const double>{};
  std::vector<double> weights;
  {
    const nb::gil_scoped_release released;
    std::vector<double> balanced;
    if (!class_weights) balanced = balanced_class_weights(sets, num_classes, given, "y");
    weights = margrove::weigh_by_class(
        sets, class_weights ? span_of(*class_weights) : std::span<const double>(balanced), given,
        "y");
  }
  return to_numpy(std::move(weights));
}

std::string predict_file(const ModelParts& model, const std::string& path, int threads) {
  const FilePredictor* files = model.predictor->files();
  require(files != nullptr, "the model is of method ", model.method, ", but must be one of files");
  const nb::gil_scoped_release released;
  Executor executor(threads);
  RunControl control;
  return files->predict_file(path, executor, control);
}

// What a model does -------------------------------------------------------------------------------

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

/// Rows of p(ends at label | x), or of p(ends at or below node | x).
nb::object probabilities(const ModelParts& model, const Csr& X, bool of_nodes, int threads) {
  const CsrView view = view_of(X);
  const std::size_t num_labels = model.labels.size();
  std::vector<double> all(view.num_rows() * num_labels);
  {
    const nb::gil_scoped_release released;
    const HierarchyProbabilities hierarchy(model.hierarchy);
    Executor executor(threads);
    for_probabilities(model.rows(), model.temperature(), of_nodes ? &hierarchy : nullptr, view,
                      executor, [&](std::size_t i, const RowProbabilities& row) {
                        const auto given = of_nodes ? row.nodes : row.labels;
                        std::copy(given.begin(), given.end(), all.begin() + i * num_labels);
                      });
  }
  return to_numpy(std::move(all), {view.num_rows(), num_labels});
}

/// The label of each row by HierarchyProbabilities::confident(), or -1.
nb::object confident(const ModelParts& model, const Csr& X, double min_confidence, int threads) {
  const CsrView view = view_of(X);
  std::vector<std::int64_t> chosen(view.num_rows());
  {
    const nb::gil_scoped_release released;
    const HierarchyProbabilities hierarchy(model.hierarchy);
    Executor executor(threads);
    for_probabilities(model.rows(), model.temperature(), &hierarchy, view, executor,
                      [&](std::size_t i, const RowProbabilities& row) {
                        const auto label =
                            hierarchy.confident(row.labels, row.nodes, min_confidence);
                        chosen[i] = label ? static_cast<std::int64_t>(*label) : -1;
                      });
  }
  return to_numpy(std::move(chosen));
}

void calibrate(ModelParts& model, const Csr& X, const Sets& labels, int threads) {
  const CsrView view = view_of(X);
  const LabelSets truth = sets_of(labels);
  const nb::gil_scoped_release released;
  Executor executor(threads);
  model.calibration = fit_calibration(model.rows(), view, truth, executor);
}

std::string report_page(const ModelParts& model, const Csr& X, const Sets& labels,
                        const std::string& title, int num_examples,
                        const std::vector<std::string>& feature_names, int threads) {
  const CsrView view = view_of(X);
  const LabelSets truth = sets_of(labels);
  const nb::gil_scoped_release released;
  ReportOptions options{.title = title, .num_examples = num_examples};
  if (!feature_names.empty()) {
    options.feature_name = [&](FeatureId feature) {
      return feature < feature_names.size() ? feature_names[feature] : concat(feature);
    };
  }
  Executor executor(threads);
  return report_html(model, view, truth, options, executor);
}

/// None or (temperature, rows, error, error at temperature 1).
nb::object calibration_of(const ModelParts& model) {
  if (!model.calibration) return nb::none();
  const Calibration& c = *model.calibration;
  return nb::make_tuple(c.temperature, c.num_rows, c.error, c.error_before);
}

/// (columns, row pointers, columns of the weights, weights) of U with one row per feature, the
/// bias, the edges between nodes, the label of each node, the nodes that may be predicted, and
/// whether the best of them is predicted (instead of all above a threshold). U is for rows before
/// scaling.
nb::tuple linear_parts(const ModelParts& model) {
  const LinearPredictor* linear = model.predictor->linear();
  require(linear != nullptr, "the model is of method ", model.method, ", but must be linear");
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

nb::object model_edges(const ModelParts& model) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (const LabelEdge& edge : edges_of(model.hierarchy)) {
    edges.emplace_back(edge.parent, edge.child);
  }
  return edges_to_numpy(edges);
}

nb::bytes to_bytes(const ModelParts& model) {
  const std::string bytes = serialize_model(model);
  return nb::bytes(bytes.data(), bytes.size());
}

ModelParts from_bytes(const nb::bytes& bytes) {
  return parse_model({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()},
                     "model in memory");
}

ModelParts compressed_model(const ModelParts& model, double keep, const std::string& precision) {
  const nb::gil_scoped_release release;
  const std::string bytes = serialize_model(model);
  ModelParts copy = parse_model(std::as_bytes(std::span(bytes)), "model in memory");
  compress(copy, {keep, parse_enum<WeightPrecision>("precision", precision)});
  return copy;
}

/// [(name, summary, needs a hierarchy, [(option, type, default, range, help)])]
nb::list list_methods() {
  nb::list list;
  for (const Method& method : methods()) {
    nb::list options;
    for (const OptionInfo& option : method.start()->options().list()) {
      options.append(nb::make_tuple(option.name, option.type, option.default_value, option.range,
                                    option.help));
    }
    list.append(nb::make_tuple(method.name, method.summary, method.needs_hierarchy, options));
  }
  return list;
}

/// [(name, summary, form of the examples, their file format, [own option])]
nb::list list_output_types() {
  nb::list list;
  for (const OutputType& type : output_types()) {
    nb::list options;
    for (const OptionInfo& option : type.start()->own_options().list()) options.append(option.name);
    list.append(
        nb::make_tuple(type.name, type.summary, name_of(type.form), type.file_format, options));
  }
  return list;
}

nb::tuple read_hierarchy_file(const std::string& path) {
  const Hierarchy hierarchy = read_hierarchy(path);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (const auto& [parent, child] : hierarchy.edges) edges.emplace_back(parent, child);
  const auto names = hierarchy.codec.names();
  return nb::make_tuple(std::vector(names.begin(), names.end()), edges_to_numpy(edges));
}

}  // namespace
}  // namespace margrove::python

// Longer than 60 lines: the table of what Python sees.
NB_MODULE(_core, m) {
  using margrove::ModelParts;
  namespace py = margrove::python;

  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const margrove::InvalidInput& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    } catch (const margrove::OutOfTimeLimit& e) {
      PyErr_SetString(PyExc_TimeoutError, e.what());
    }
  });
  nb::exception<margrove::ModelFileError>(m, "ModelFileError", PyExc_ValueError);

  m.attr("__version__") = MARGROVE_VERSION;
  m.def("methods", &py::list_methods);
  m.def("output_types", &py::list_output_types);
  m.def("read_hierarchy", &py::read_hierarchy_file, "path"_a);
  m.def("merge_equal_rows", &py::merge_equal_rows, "X"_a.noconvert(), "labels"_a.noconvert(),
        "row_weights"_a.noconvert().none());
  m.def("weigh_by_class", &py::weigh_by_class, "labels"_a.noconvert(), "num_classes"_a,
        "class_weights"_a.noconvert().none(), "row_weights"_a.noconvert().none());
  m.def("train", &py::train, "method"_a, "options"_a, "X"_a.noconvert(), "labels"_a.noconvert(),
        "names"_a, "hierarchy"_a.noconvert().none(), "row_weights"_a.noconvert().none(),
        "threads"_a, "time_limit_seconds"_a.none(), "memory_limit"_a.none(), "calibration"_a,
        "callback"_a.none(), "views"_a = py::NamedRanges{}, "start"_a = nb::none(),
        "keep_state"_a = false, "expect_all"_a = false, "scale"_a = "auto");
  m.def("train_file", &py::train_file, "method"_a, "options"_a, "path"_a, "threads"_a,
        "time_limit_seconds"_a.none(), "memory_limit"_a.none(), "callback"_a.none());
  m.def("plan_shards", &py::plan_shards, "folder"_a, "num_shards"_a, "method"_a, "options"_a,
        "X"_a.noconvert(), "labels"_a.noconvert(), "names"_a, "hierarchy"_a.noconvert().none(),
        "row_weights"_a.noconvert().none(), "memory_limit"_a.none(), "views"_a, "scale"_a);
  m.def("import_liblinear", &margrove::import_liblinear, "path"_a);
  py::bind_choice(m);
  py::bind_metrics(m);
  py::bind_structured(m);
  py::bind_score_losses(m);
  py::bind_text(m);

  nb::class_<margrove::ShardedTraining>(m, "ShardedTraining")
      .def(nb::init<std::string>(), "folder"_a, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("num_shards", &margrove::ShardedTraining::num_shards)
      .def("state", &py::shard_state, "shard"_a)
      .def("summary", &py::shard_summary, "shard"_a)
      .def("train", &py::train_shard, "shard"_a, "threads"_a, "callback"_a.none())
      .def("merge", &py::merge_shards, "threads"_a);

  nb::class_<ModelParts>(m, "Model")
      .def_static(
          "load", [](const std::string& path) { return margrove::load_model(path); }, "path"_a)
      .def("save", &margrove::save_model, "path"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("__getstate__", &py::to_bytes)
      .def("__setstate__",
           [](ModelParts& model, const nb::bytes& bytes) {
             new (&model) ModelParts(py::from_bytes(bytes));
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
      .def_prop_ro("network", &py::network)
      .def_prop_ro("edges", &py::model_edges)
      .def_prop_ro("training_rows",
                   [](const ModelParts& model) { return py::to_numpy(model.training_rows); })
      .def_prop_ro("report", &py::report)
      .def_prop_ro("facts",
                   [](const ModelParts& model) {
                     std::vector<std::pair<std::string, std::string>> facts;
                     for (const auto& [name, value] : model.predictor->facts()) {
                       facts.emplace_back(name, value);
                     }
                     return facts;
                   })
      .def_prop_ro("num_features", &ModelParts::num_raw_features)
      .def_prop_ro("preprocessing",
                   [](const ModelParts& model) {
                     return std::string(margrove::name_of(model.preprocessing.kind));
                   })
      .def_prop_ro("record_columns", &py::record_columns)
      .def_prop_ro("keeps_rows",
                   [](const ModelParts& model) { return model.preprocessing.keeps_rows(); })
      .def_prop_ro("vocabulary",
                   [](const ModelParts& model) { return py::term_names(model.preprocessing); })
      .def("preprocess_texts",
           [](const ModelParts& model, const std::vector<std::string>& documents) {
             return py::to_python(model.preprocessing.apply(documents));
           })
      .def("preprocess_records", &py::preprocess_records, "documents"_a, "numeric"_a.noconvert(),
           "categorical"_a)
      .def("feature_name", &ModelParts::feature_name, "feature"_a)
      .def("preprocess_rows",
           [](const ModelParts& model, const py::Csr& X) {
             return py::to_python(model.preprocessing.apply(py::view_of(X)));
           })
      .def("export_liblinear", &margrove::export_liblinear, "path"_a)
      .def("compressed", &py::compressed_model, "keep"_a, "precision"_a)
      .def_prop_ro("is_of_files",
                   [](const ModelParts& model) { return model.predictor->files() != nullptr; })
      .def_prop_ro("gives_one_label",
                   [](const ModelParts& model) { return model.rows().gives_one_label(); })
      .def("predict_file", &py::predict_file, "path"_a, "threads"_a)
      .def_prop_ro("calibration", &py::calibration_of)
      .def_prop_ro("linear_parts", &py::linear_parts)
      .def("calibrate", &py::calibrate, "X"_a.noconvert(), "labels"_a.noconvert(), "threads"_a)
      .def("probabilities", &py::probabilities, "X"_a.noconvert(), "of_nodes"_a, "threads"_a)
      .def("confident", &py::confident, "X"_a.noconvert(), "min_confidence"_a, "threads"_a)
      .def("report_page", &py::report_page, "X"_a.noconvert(), "labels"_a.noconvert(), "title"_a,
           "num_examples"_a, "feature_names"_a, "threads"_a)
      .def("predict", &py::predict, "X"_a.noconvert(), "threads"_a)
      .def("scores", &py::scores, "X"_a.noconvert(), "threads"_a)
      .def("top", &py::top, "X"_a.noconvert(), "k"_a, "threads"_a)
      .def("explain", &py::explain, "X"_a.noconvert(), "row"_a, "label"_a, "num_features"_a);
}
