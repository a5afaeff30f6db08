#include "text_bindings.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "data/text_views.hpp"
#include "io/safetensors.hpp"
#include "margrove/stop_words.hpp"
#include "margrove/tfidf.hpp"
#include "model/tensor_parts.hpp"
#include "record_bindings.hpp"
#include "text_argument.hpp"

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

Preprocessing fit(const nb::object& documents, const TextOptions& values, const Names& stop_words) {
  const TextArgument texts(documents);
  const TfidfOptions options = tfidf_options_of(values, stop_words);
  const nb::gil_scoped_release release;
  return fit_texts(texts.views(), options);
}

/// What fit() returns, and the weights of the terms of the same documents.
nb::tuple fit_and_weigh(const nb::object& documents, const TextOptions& values,
                        const Names& stop_words) {
  const TextArgument texts(documents);
  const TfidfOptions options = tfidf_options_of(values, stop_words);
  FittedTexts both = [&] {
    const nb::gil_scoped_release release;
    return fit_and_weigh_texts(texts.views(), options);
  }();
  nb::object X = to_python(both.X);
  return nb::make_tuple(std::move(both.fitted), std::move(X));
}

nb::bytes to_bytes(const Preprocessing& fitted) {
  TensorMap tensors;
  save_preprocessing(tensors, fitted);
  const std::string bytes = serialize_safetensors(tensors);
  return nb::bytes(bytes.data(), bytes.size());
}

Preprocessing from_bytes(const nb::bytes& bytes) {
  Preprocessing fitted = load_preprocessing(parse_safetensors(
      {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "terms in memory"));
  use_this_interpreter(fitted.vectors);
  return fitted;
}

/// The weights of the terms of documents.
nb::object weigh(const Preprocessing& fitted, const nb::object& documents) {
  const TextArgument texts(documents);
  const auto weighted = [&] {
    const nb::gil_scoped_release release;
    return weigh_texts(fitted, texts.views());
  };
  return to_python(weighted());
}

}  // namespace

std::vector<std::string> term_names(const Preprocessing& fitted) {
  std::vector<std::string> names;
  if (fitted.kind != Preprocessing::Kind::text_tfidf) return names;
  for (FeatureId j = 0; j < fitted.idf.size() + fitted.vectors.width(); ++j)
    names.push_back(fitted.term_name(j));
  return names;
}

void bind_text(nb::module_& m) {
  m.def("text_options", &list_options);
  m.def("stop_words_of", &stop_words_of, "language"_a);
  nb::class_<Preprocessing>(m, "FittedText")
      .def_static("fit", &fit, "documents"_a, "options"_a, "stop_words"_a)
      .def_static("fit_and_apply", &fit_and_weigh, "documents"_a, "options"_a, "stop_words"_a)
      .def("apply", &weigh, "documents"_a)
      .def_prop_ro("vocabulary", &term_names)
      .def_ro("num_rows_without_terms", &Preprocessing::num_rows_without_terms)
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
