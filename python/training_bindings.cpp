// Training of models: from arrays, from files, and in shards.

#include "training_bindings.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "data/column_scale.hpp"
#include "data/token_features.hpp"
#include "eval/held_out.hpp"
#include "io/shards.hpp"
#include "margrove/errors.hpp"
#include "margrove/executor.hpp"
#include "methods/labelled_rows.hpp"
#include "methods/registry.hpp"
#include "methods/training.hpp"
#include "model/class_weights.hpp"
#include "record_bindings.hpp"
#include "reporter.hpp"

namespace margrove::python {
namespace {

using namespace nb::literals;

/// What preprocesses the rows of X: texts have been already.
Preprocessing fitted_preprocessing(const Method& method, const OptionTable& options,
                                   const std::string& scale, const CsrView& X,
                                   const std::optional<Vector<double>>& row_weights,
                                   const RecordFeatures* records, const Preprocessing* texts) {
  PreprocessingOptions asked;
  asked.scale = parse_enum<ColumnScale>("scale", scale);
  if (texts != nullptr) {
    require<InvalidOption>(
        asked.scale == ColumnScale::automatic || asked.scale == ColumnScale::none,
        "option scale is ", scale, ", which is for columns of numbers, but X has texts");
    return *texts;
  }
  std::vector<std::uint8_t> is_numeric;  // of the columns of records
  if (records != nullptr) {
    const auto [begin, end] = records->numeric_columns();
    is_numeric.assign(X.num_columns(), 0);
    std::fill(is_numeric.begin() + begin, is_numeric.begin() + end, 1);
  }
  return Preprocessing::fit_columns(X, preprocessing_for(method, options, asked).scale,
                                    row_weights ? span_of(*row_weights) : std::span<const double>{},
                                    is_numeric);
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
  const std::string& kernel_features;
  double kernel_gamma;
  const ModelParts* kernel_model;  // which has preprocessed X; null: none
  const std::string& kernel_model_name;
  const RecordFeatures* records;  // of X; null where rows are no records
  const Preprocessing* texts;     // that made X; null where rows are no texts
  const Names& node_names;        // for people, of the nodes of the hierarchy; or none
  const Names& other_names;       // Hierarchy::other_names; or none
  const std::string& unlabelled;
  const ModelParts* start = nullptr;
  bool keep_state = false;
  bool expect_all = false;
  const ModelParts* start_weights = nullptr;
};

/// The kernel features that the input asks for, or those of the model that it continues, and the
/// rows in them.
struct KernelRows {
  std::optional<KernelFeatures> features;
  CsrMatrix X;
};

std::optional<KernelFeatures> kernel_features_of(const TrainingInput& input, const Method& method,
                                                 const OptionTable& table, const CsrView& X,
                                                 Executor& executor, RunControl& control) {
  if (input.start != nullptr && input.expect_all) return input.start->kernel_features;
  PreprocessingOptions asked;
  asked.kernel_features = KernelFeatures::Choice::parse(input.kernel_features);
  asked.kernel_gamma = input.kernel_gamma;
  if (input.kernel_model != nullptr) {
    asked.scale = parse_enum<ColumnScale>("scale", input.scale);
    asked.kernel_model = {std::shared_ptr<void>(), input.kernel_model};
    asked.kernel_model_name = input.kernel_model_name;
  }
  validate(asked);
  return fit_kernel_features(X, preprocessing_for(method, table, asked), "X", executor, &control);
}

KernelRows kernel_rows_of(const TrainingInput& input, const Method& method,
                          const OptionTable& table, const CsrView& X, Executor& executor,
                          RunControl& control) {
  return done_in_time("X", "the preparation of the rows", &control, [&] {
    KernelRows rows{kernel_features_of(input, method, table, X, executor, control), {}};
    if (rows.features) rows.X = rows.features->apply(X, executor, &control);
    return rows;
  });
}

/// What makes the terms of the rows of the input; null where they have no texts.
const Preprocessing* texts_of(const TrainingInput& input) {
  if (const ModelParts* model = input.kernel_model) {
    return margrove::texts_of(model->records, model->preprocessing);
  }
  const RecordFeatures* const records = input.records;
  const bool have_texts = records != nullptr && records->text.kind != Preprocessing::Kind::none;
  return have_texts ? &records->text : input.texts;
}

/// What preprocesses the rows of the input.
Preprocessing preprocessing_of(const TrainingInput& input, const Method& method,
                               const OptionTable& table, const CsrView& X) {
  if (input.kernel_model != nullptr) return input.kernel_model->preprocessing;
  const bool goes_on = input.start != nullptr && input.expect_all;
  if (goes_on) return input.start->preprocessing;  // partial_fit: weights of columns of this scale
  return fitted_preprocessing(method, table, input.scale, X, input.row_weights, input.records,
                              input.texts);
}

/// Prepares the input and calls use(method, run, data, preprocessing, executor) without the GIL.
template <class Use>
void with_training_set(const TrainingInput& input, int threads, RunControl& control,
                       const Use& use) {
  CsrView view = view_of(input.X);
  const Method& method = find_method(input.method);
  const auto run = method.start();
  set_options(run->options(), OptionValues(input.options.begin(), input.options.end()));
  const auto& row_weights = input.row_weights;
  const nb::gil_scoped_release released;
  std::optional<Hierarchy> graph;
  if (input.hierarchy) {
    graph = hierarchy_of(*input.hierarchy);
    graph->names = input.node_names;
    graph->other_names = input.other_names;
  }
  LabelSets labels = sets_of(input.labels);
  labels.set_unlabelled(parse_enum<LabelSets::Unlabelled>("unlabelled", input.unlabelled));
  const LabelledRows rows =
      label_rows(labels, LabelCodec(input.names), graph ? &*graph : nullptr, "y");
  require(rows.labels.num_rows() == view.num_rows(), "y: it has ", rows.labels.num_rows(),
          " rows, but must have ", view.num_rows(), " as X");
  require(!row_weights || row_weights->size() == view.num_rows(), "sample_weight: it has ",
          row_weights ? row_weights->size() : 0, " values, but must have ", view.num_rows(),
          " as X has rows");
  const Preprocessing preprocessing = preprocessing_of(input, method, run->options(), view);
  const bool is_numeric = preprocessing.kind == Preprocessing::Kind::scale ||
                          preprocessing.kind == Preprocessing::Kind::normalize;
  const bool is_scaled = is_numeric && input.kernel_model == nullptr;  // which has scaled them
  const CsrMatrix scaled = is_scaled ? preprocessing.apply(view) : CsrMatrix();
  if (is_scaled) view = scaled;
  const std::vector<View> sources = views_of(input.views, view.num_columns());
  Executor executor(threads);
  const KernelRows kernel_rows =
      kernel_rows_of(input, method, run->options(), view, executor, control);
  if (kernel_rows.features) view = kernel_rows.X;
  TrainingSet data{.X = view, .labels = &rows.labels, .codec = &rows.codec, .source = "X"};
  data.columns_are_scaled = centres_columns(preprocessing);
  data.records = input.records;
  data.label_names = rows.names;
  data.other_names = rows.other_names;
  data.texts = texts_of(input);
  if (rows.has_hierarchy) data.hierarchy = &rows.hierarchy;
  data.views = sources;
  if (kernel_rows.features) data.kernel_features = &*kernel_rows.features;
  if (row_weights) data.row_weights = span_of(*row_weights);
  data.continuation = {.start = input.start != nullptr ? input.start->state.get() : nullptr,
                       .keep = input.keep_state};
  data.start = input.start_weights;
  std::vector<LabelId> expected;
  if (input.expect_all) {
    for (const std::string& name : input.names) expected.push_back(rows.codec.find(name).value());
  }
  data.expected_labels = expected;
  use(method, *run, data, preprocessing, executor);
}

ModelParts train(const std::string& method_name, const std::map<std::string, std::string>& options,
                 const Csr& X, const Sets& labels, const std::vector<std::string>& names,
                 const std::optional<Edges>& hierarchy,
                 const std::optional<Vector<double>>& row_weights, int threads,
                 std::optional<double> time_limit_seconds, std::optional<double> memory_limit,
                 double calibration, nb::object callback, const NamedRanges& views,
                 const ModelParts* start, bool keep_state, bool expect_all,
                 const std::string& scale, const RecordFeatures* records,
                 const Preprocessing* texts, const Names& node_names,
                 const ModelParts* start_weights, const std::string& unlabelled,
                 const Names& other_names, const std::string& kernel_features, double kernel_gamma,
                 const ModelParts* kernel_model, const std::string& kernel_model_name) {
  Reporter reporter(std::move(callback), /*false_ends=*/true);
  RunControl control(std::ref(reporter),
                     time_limit_seconds.value_or(std::numeric_limits<double>::infinity()));
  control.limit_memory(1e9 * memory_limit.value_or(0));
  std::optional<ModelParts> model;
  const TrainingInput input{method_name,
                            options,
                            X,
                            labels,
                            names,
                            hierarchy,
                            row_weights,
                            views,
                            scale,
                            kernel_features,
                            kernel_gamma,
                            kernel_model,
                            kernel_model_name,
                            records,
                            texts,
                            node_names,
                            other_names,
                            unlabelled,
                            start,
                            keep_state,
                            expect_all,
                            start_weights};
  const auto use = [&](const Method& method, MethodRun& run, const TrainingSet& data,
                       const Preprocessing& preprocessing, Executor& executor) {
    const Plan plan = plan_training(method, run, data, executor, control);
    require_trainable(plan, run, data, memory_limit.value_or(0));
    model = train_model(method, run, plan, data, preprocessing, executor, control);
    if (calibration > 0) {
      calibrate_held_out(*model, method, run, data, calibration, executor, control);
    }
  };
  reporter.train([&] { with_training_set(input, threads, control, use); });
  reporter.rethrow();
  return std::move(*model);
}

void plan_shards(const std::string& folder, std::size_t num_shards, const std::string& method_name,
                 const std::map<std::string, std::string>& options, const Csr& X,
                 const Sets& labels, const std::vector<std::string>& names,
                 const std::optional<Edges>& hierarchy,
                 const std::optional<Vector<double>>& row_weights,
                 std::optional<double> memory_limit, const NamedRanges& views,
                 const std::string& scale, const RecordFeatures* records,
                 const Preprocessing* texts, const Names& node_names, const std::string& unlabelled,
                 const Names& other_names, const std::string& kernel_features, double kernel_gamma,
                 const ModelParts* kernel_model, const std::string& kernel_model_name) {
  Reporter reporter{nb::none()};
  RunControl control(std::ref(reporter));
  control.limit_memory(1e9 * memory_limit.value_or(0));
  const TrainingInput input{
      method_name,       options, X,     labels,          names,        hierarchy,
      row_weights,       views,   scale, kernel_features, kernel_gamma, kernel_model,
      kernel_model_name, records, texts, node_names,      other_names,  unlabelled};
  const auto use = [&](const Method& method, MethodRun& run, const TrainingSet& data,
                       const Preprocessing& preprocessing, Executor& executor) {
    const Plan plan = plan_training(method, run, data, executor, control);
    require_trainable(plan, run, data, memory_limit.value_or(0));
    margrove::plan_shards(method, run, plan, data, preprocessing, num_shards, folder);
  };
  reporter.train([&] { with_training_set(input, 1, control, use); });
  reporter.rethrow();
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
ModelParts train_sentences(const std::string& method_name,
                           const std::map<std::string, std::string>& options,
                           const std::vector<Sentence>& sentences, int threads,
                           std::optional<double> time_limit_seconds,
                           std::optional<double> memory_limit, nb::object callback,
                           const ModelParts* start_weights,
                           std::optional<std::vector<std::string>> token_keys) {
  const Method& method = find_method(method_name);
  const auto run = method.start();
  set_options(run->options(), OptionValues(options.begin(), options.end()));
  Reporter reporter(std::move(callback), /*false_ends=*/true);
  std::optional<ModelParts> model;
  {
    const nb::gil_scoped_release released;
    RunControl control(std::ref(reporter),
                       time_limit_seconds.value_or(std::numeric_limits<double>::infinity()));
    control.limit_memory(1e9 * memory_limit.value_or(0));
    Executor executor(threads);
    model = reporter.train([&] {
      return train_examples(method, *run, {sentences, "X", 0}, start_weights,
                            memory_limit.value_or(0), executor, control);
    });
  }
  reporter.rethrow();
  model->token_keys = std::move(token_keys);
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

}  // namespace

void bind_training(nb::module_& m) {
  m.def(
      "check_rows", [](const Csr& X) { view_of(X); }, "X"_a.noconvert());
  m.def("merge_equal_rows", &merge_equal_rows, "X"_a.noconvert(), "labels"_a.noconvert(),
        "row_weights"_a.noconvert().none());
  m.def("weigh_by_class", &weigh_by_class, "labels"_a.noconvert(), "num_classes"_a,
        "class_weights"_a.noconvert().none(), "row_weights"_a.noconvert().none());
  m.def("train", &train, "method"_a, "options"_a, "X"_a.noconvert(), "labels"_a.noconvert(),
        "names"_a, "hierarchy"_a.noconvert().none(), "row_weights"_a.noconvert().none(),
        "threads"_a, "time_limit_seconds"_a.none(), "memory_limit"_a.none(), "calibration"_a,
        "callback"_a.none(), "views"_a = NamedRanges{}, "start"_a = nb::none(),
        "keep_state"_a = false, "expect_all"_a = false, "scale"_a = "auto",
        "records"_a = nb::none(), "texts"_a = nb::none(), "node_names"_a = Names{},
        "start_weights"_a = nb::none(), "unlabelled"_a = "auto", "other_names"_a = Names{},
        "kernel_features"_a = "none", "kernel_gamma"_a = 0.0, "kernel_model"_a = nb::none(),
        "kernel_model_name"_a = "");
  m.def("train_sentences", &train_sentences, "method"_a, "options"_a, "sentences"_a, "threads"_a,
        "time_limit_seconds"_a.none(), "memory_limit"_a.none(), "callback"_a.none(),
        "start_weights"_a.none(), "token_keys"_a.none());
  m.def("token_of", [](const TokenFeatures& features, const std::vector<std::string>& keys) {
    return token_of(features, keys);
  });
  m.def("plan_shards", &plan_shards, "folder"_a, "num_shards"_a, "method"_a, "options"_a,
        "X"_a.noconvert(), "labels"_a.noconvert(), "names"_a, "hierarchy"_a.noconvert().none(),
        "row_weights"_a.noconvert().none(), "memory_limit"_a.none(), "views"_a, "scale"_a,
        "records"_a = nb::none(), "texts"_a = nb::none(), "node_names"_a = Names{},
        "unlabelled"_a = "auto", "other_names"_a = Names{}, "kernel_features"_a = "none",
        "kernel_gamma"_a = 0.0, "kernel_model"_a = nb::none(), "kernel_model_name"_a = "");

  m.def("methods_in_shards", [] { return std::string(kMethodsInShards); });
  nb::class_<ShardedTraining>(m, "ShardedTraining")
      .def(nb::init<std::string>(), "folder"_a, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("num_shards", &ShardedTraining::num_shards)
      .def("state", &shard_state, "shard"_a)
      .def("summary", &shard_summary, "shard"_a)
      .def("train", &train_shard, "shard"_a, "threads"_a, "callback"_a.none())
      .def("merge", &merge_shards, "threads"_a);
}

}  // namespace margrove::python
