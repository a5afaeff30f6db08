#pragma once
// The terms of texts and their weights in the extension module.

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "margrove/tfidf.hpp"

namespace margrove::python {

/// The name of the term of each column; none where rows are no texts.
std::vector<std::string> term_names(const Preprocessing& fitted);
void bind_text(nanobind::module_& m);

}  // namespace margrove::python
