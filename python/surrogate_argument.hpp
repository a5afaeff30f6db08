#pragma once
// Surrogates as arguments from Python.

#include <nanobind/nanobind.h>

#include "margrove/surrogates.hpp"

namespace margrove::python {

/// A name, a Surrogate of the bindings, or an object with the methods of
/// margrove.structured.Surrogate, which are called from any thread. With the GIL. Throws
/// InvalidOption for a wrong name and for functions that are no surrogate, and TypeError for an
/// object without these methods; exceptions of the methods are passed on.
AnySurrogate surrogate_of(const nanobind::object& argument);

/// Surrogate(argument): what surrogate_of() makes of it, so that functions are checked once.
void bind_surrogates(nanobind::module_& m);

}  // namespace margrove::python
