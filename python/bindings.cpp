// The extension module margrove._core: converts arguments and results and releases the GIL.
// Everything else is in the library or in the package's Python files.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "choice_bindings.hpp"
#include "data/gaf_reader.hpp"
#include "data/hierarchy_edges.hpp"
#include "margrove/errors.hpp"
#include "methods/registry.hpp"
#include "methods/training.hpp"
#include "metrics_bindings.hpp"
#include "model_bindings.hpp"
#include "outputs/registry.hpp"
#include "record_bindings.hpp"
#include "reporter.hpp"
#include "score_loss_bindings.hpp"
#include "structured_bindings.hpp"
#include "surrogate_argument.hpp"
#include "text_bindings.hpp"
#include "training_bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace margrove::python {
namespace {

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

/// (ids of nodes, edges, [(alternative id, node)], [warning], [all names of a node, one a line])
nb::tuple read_hierarchy_file(const std::string& path, bool part_of, const std::string& language) {
  Reporter reporter{nb::none()};
  RunControl control(std::ref(reporter));
  const Hierarchy hierarchy = reporter.train([&] {
    const nb::gil_scoped_release no_gil;
    return read_hierarchy(
        path, {.part_of = part_of, .language = language, .other_names = true, .control = &control});
  });
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (const auto& [parent, child] : hierarchy.edges) edges.emplace_back(parent, child);
  const auto names = hierarchy.codec.names();
  std::vector<std::string> all_names = hierarchy.names;
  for (std::size_t node = 0; node < hierarchy.other_names.size(); ++node) {
    if (!hierarchy.other_names[node].empty()) {
      add_line(all_names[node], hierarchy.other_names[node]);
    }
  }
  return nb::make_tuple(std::vector(names.begin(), names.end()), edges_to_numpy(edges),
                        alternatives_of(hierarchy.codec), hierarchy.warnings, all_names);
}

/// Throws InvalidInput, naming the nodes, where edges form a cycle.
void check_hierarchy(const Edges& hierarchy) { hierarchy_of(hierarchy); }

/// ({object: [term]}, [warning])
nb::tuple read_annotations(const std::string& path, const std::vector<std::string>& evidence,
                           const std::string& aspects) {
  Reporter reporter{nb::none()};
  RunControl control(std::ref(reporter));
  const Annotations found = reporter.train([&] {
    const nb::gil_scoped_release no_gil;
    return read_gaf(path, {.evidence = evidence, .aspects = aspects}, &control);
  });
  nb::dict terms_of;
  for (LabelId object = 0; object < found.objects.size(); ++object) {
    nb::list terms;
    for (const LabelId term : found.terms_of[object]) terms.append(found.terms.name(term));
    const std::string& name = found.objects.name(object);
    terms_of[nb::str(name.c_str(), name.size())] = terms;
  }
  return nb::make_tuple(terms_of, found.warnings);
}

}  // namespace
}  // namespace margrove::python

NB_MODULE(_core, m) {
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
  m.def("read_hierarchy", &py::read_hierarchy_file, "path"_a, "part_of"_a, "language"_a = "");
  m.def("check_hierarchy", &py::check_hierarchy, "hierarchy"_a);
  m.def("read_annotations", &py::read_annotations, "path"_a, "evidence"_a, "aspects"_a);
  py::bind_choice(m);
  py::bind_metrics(m);
  py::bind_records(m);
  py::bind_surrogates(m);
  py::bind_structured(m);
  py::bind_score_losses(m);
  py::bind_text(m);
  py::bind_training(m);
  py::bind_model(m);
}
