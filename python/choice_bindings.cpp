#include "choice_bindings.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "eval/automatic_choice.hpp"
#include "margrove/errors.hpp"
#include "reporter.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace margrove::python {
namespace {

nb::dict row_of(const CandidateResult& result) {
  std::map<std::string, std::string> options(result.options.begin(), result.options.end());
  nb::dict row;
  row["method"] = result.method;
  row["options"] = options;
  row["verdict"] = std::string(name_of(result.verdict));
  row["rows"] = result.num_rows;
  row["score"] = result.score;
  row["difference"] = result.difference;
  row["standard_error"] = result.standard_error;
  row["trials"] = result.num_trials;
  row["seconds"] = result.seconds;
  row["note"] = result.note;
  return row;
}

nb::dict table_of(const AutomaticChoice& choice) {
  nb::list candidates;
  for (const CandidateResult& each : choice.candidates) candidates.append(row_of(each));
  nb::list left_out;
  for (const LeftOut& each : choice.left_out) {
    left_out.append(nb::make_tuple(each.candidate, each.reason));
  }
  nb::dict table;
  table["metric"] = choice.metric;
  table["candidates"] = candidates;
  table["left_out"] = left_out;
  table["reason"] = reason_of(choice);
  table["stop"] = std::string(to_string(choice.stop));
  table["splits"] = choice.num_splits;
  table["seconds"] = choice.seconds;
  return table;
}

/// The model of all rows, and the table of the candidates.
nb::tuple choose(const Csr& X, const Sets& labels, const std::vector<std::string>& names,
                 const std::optional<Edges>& hierarchy, const std::string& metric,
                 std::uint64_t seed, const std::string& scale, int threads,
                 std::optional<double> time_limit_seconds, std::optional<double> memory_limit,
                 nb::object callback) {
  Reporter reporter(std::move(callback));
  const CsrView view = view_of(X);
  PreprocessingOptions preprocessing;
  preprocessing.scale = parse_enum<ColumnScale>("scale", scale);
  const AutomaticOptions options{.metric = metric, .seed = seed};
  std::optional<AutomaticChoice> choice;
  std::optional<ModelParts> model;
  {
    const nb::gil_scoped_release released;
    RawRows raw;
    raw.source = "X";
    raw.X = CsrMatrix(view.num_columns(), {view.row_pointers().begin(), view.row_pointers().end()},
                      {view.columns().begin(), view.columns().end()},
                      {view.values().begin(), view.values().end()});
    raw.labels = sets_of(labels);
    raw.codec = LabelCodec(names);
    require(raw.labels.num_rows() == view.num_rows(), "y: it has ", raw.labels.num_rows(),
            " rows, but must have ", view.num_rows(), " as X");
    std::optional<Hierarchy> graph;
    if (hierarchy) graph = hierarchy_of(*hierarchy);
    const Hierarchy* given = graph ? &*graph : nullptr;
    Executor executor(threads);
    RunControl control(std::ref(reporter),
                       time_limit_seconds.value_or(std::numeric_limits<double>::infinity()));
    choice = choose_automatically(raw, given, preprocessing, options, memory_limit.value_or(0),
                                  executor, control);
    if (choice->model) {
      model = train_chosen(*choice, std::move(raw), given, preprocessing, options,
                           memory_limit.value_or(0), executor, control);
    }
  }
  reporter.rethrow();
  require<OutOfTimeLimit>(model || choice->stop != Stop::time_limit,
                          "the time limit ended the search before any candidate was measured");
  require(model.has_value(), "no candidate could be trained: ",
          choice->candidates.empty() ? std::string() : choice->candidates.front().note);
  return nb::make_tuple(std::move(*model), table_of(*choice));
}

}  // namespace

void bind_choice(nb::module_& m) {
  m.def("choose", &choose, "X"_a.noconvert(), "labels"_a.noconvert(), "names"_a,
        "hierarchy"_a.noconvert().none(), "metric"_a, "seed"_a, "scale"_a, "threads"_a,
        "time_limit_seconds"_a.none(), "memory_limit"_a.none(), "callback"_a.none());
}

}  // namespace margrove::python
