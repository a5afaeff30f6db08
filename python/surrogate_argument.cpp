#include "surrogate_argument.hpp"

#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <utility>

namespace nb = nanobind;

namespace margrove::python {
namespace {

/// A method of the user's object. Copies share it, as threads copy functions without the GIL.
class Method {
 public:
  Method(nb::object method, const char* name)
      : method_(new nb::object(std::move(method)),
                [](const nb::object* last) {
                  const nb::gil_scoped_acquire gil;
                  delete last;
                }),
        name_(name) {}

  template <class... Numbers>
  double number(Numbers... numbers) const {
    const nb::gil_scoped_acquire gil;
    const nb::object value = (*method_)(numbers...);
    double number = 0;
    if (!nb::try_cast(value, number)) {
      nb::raise_type_error("surrogate: %s returned a value of type %s, but must return a number",
                           name_, nb::type_name(value.type()).c_str());
    }
    return number;
  }

  /// Any type, as in an `if` of Python.
  bool is_true(double m, double g) const {
    const nb::gil_scoped_acquire gil;
    return nb::cast<bool>(nb::bool_((*method_)(m, g)));
  }

 private:
  std::shared_ptr<const nb::object> method_;
  const char* name_;
};

std::function<double(double, double)> of_margin_and_loss(const nb::object& object,
                                                         const char* name) {
  const nb::object method = nb::getattr(object, name, nb::none());
  if (!PyCallable_Check(method.ptr())) {
    nb::raise_type_error(
        "surrogate is of type %s, which is no name and has no method %s; see "
        "margrove.structured.Surrogate",
        nb::type_name(object.type()).c_str(), name);
  }
  return [method = Method(method, name)](double m, double g) { return method.number(m, g); };
}

std::function<double(double)> of_loss(const nb::object& object, const char* name) {
  nb::object method = nb::getattr(object, name, nb::none());
  if (method.is_none()) return {};
  return [method = Method(std::move(method), name)](double g) { return method.number(g); };
}

}  // namespace

AnySurrogate surrogate_of(const nb::object& argument) {
  if (nb::isinstance<nb::str>(argument)) {
    return AnySurrogate::parse(nb::cast<std::string>(argument));
  }
  if (nb::isinstance<AnySurrogate>(argument)) return nb::cast<AnySurrogate>(argument);
  CustomSurrogate::Functions functions{.value = of_margin_and_loss(argument, "value"),
                                       .derivative_m = of_margin_and_loss(argument, "derivative_m"),
                                       .derivative_g = of_margin_and_loss(argument, "derivative_g"),
                                       .slope = of_loss(argument, "slope"),
                                       .offset = of_loss(argument, "offset")};
  const nb::object is_convex = nb::getattr(argument, "is_convex", nb::none());
  if (!is_convex.is_none() && !nb::try_cast(is_convex, functions.is_convex)) {
    nb::raise_type_error("surrogate: is_convex is of type %s, but must be bool",
                         nb::type_name(is_convex.type()).c_str());
  }
  nb::object in_domain = nb::getattr(argument, "in_domain", nb::none());
  if (!in_domain.is_none()) {
    functions.in_domain = [method = Method(std::move(in_domain), "in_domain")](double m, double g) {
      return method.is_true(m, g);
    };
  }
  return CustomSurrogate(std::move(functions));
}

void bind_surrogates(nb::module_& m) {
  nb::class_<AnySurrogate>(m, "Surrogate")
      .def(
          "__init__",
          [](AnySurrogate* self, const nb::object& argument) {
            new (self) AnySurrogate(surrogate_of(argument));
          },
          nb::arg("argument").none());
}

}  // namespace margrove::python
