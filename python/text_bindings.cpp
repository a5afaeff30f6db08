#include "text_bindings.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "io/safetensors.hpp"
#include "margrove/tfidf.hpp"
#include "model/tensor_parts.hpp"

namespace margrove::python {
namespace {

using namespace nb::literals;

/// [(option, type, default, range, help)]
nb::list list_options() {
  TfidfOptions options;
  nb::list list;
  for (const OptionInfo& each : OptionTable(options).list()) {
    list.append(nb::make_tuple(each.name, each.type, each.default_value, each.range, each.help));
  }
  return list;
}

Preprocessing fit(const std::vector<std::string>& documents,
                  const std::vector<std::pair<std::string, std::string>>& values,
                  const std::vector<std::string>& stop_words) {
  TfidfOptions options;
  OptionTable table(options);
  for (const auto& [name, value] : values) table.set(name, value);
  options.stop_words = stop_words;
  const nb::gil_scoped_release release;
  return Preprocessing::fit_text(documents, options);
}

nb::tuple apply(const Preprocessing& fitted, const std::vector<std::string>& documents) {
  const auto weighted = [&] {
    const nb::gil_scoped_release release;
    return fitted.apply(documents);
  };
  return to_python(weighted());
}

nb::bytes to_bytes(const Preprocessing& fitted) {
  TensorMap tensors;
  save_preprocessing(tensors, fitted);
  const std::string bytes = serialize_safetensors(tensors);
  return nb::bytes(bytes.data(), bytes.size());
}

Preprocessing from_bytes(const nb::bytes& bytes) {
  return load_preprocessing(parse_safetensors(
      {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "terms in memory"));
}

}  // namespace

std::vector<std::string> term_names(const Preprocessing& fitted) {
  std::vector<std::string> names;
  if (fitted.kind != Preprocessing::Kind::text_tfidf) return names;
  for (FeatureId j = 0; j < fitted.idf.size(); ++j) names.push_back(fitted.term_name(j));
  return names;
}

void bind_text(nb::module_& m) {
  m.def("text_options", &list_options);
  nb::class_<Preprocessing>(m, "FittedText")
      .def_static("fit", &fit, "documents"_a, "options"_a, "stop_words"_a)
      .def("apply", &apply, "documents"_a)
      .def_prop_ro("vocabulary", &term_names)
      .def("__init__",
           [](Preprocessing* fitted, const nb::bytes& bytes) {
             new (fitted) Preprocessing(from_bytes(bytes));
           })
      .def("__reduce__",  // a call of the class restores it, which skops allows
           [](nb::handle_t<Preprocessing> fitted) {
             const nb::bytes bytes = to_bytes(nb::cast<const Preprocessing&>(fitted));
             return nb::make_tuple(fitted.type(), nb::make_tuple(bytes));
           })
      .def("__setstate__", [](Preprocessing& fitted, const nb::bytes& bytes) {
        new (&fitted) Preprocessing(from_bytes(bytes));
      });
}

}  // namespace margrove::python
