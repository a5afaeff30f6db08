#include "margrove/surrogates.hpp"

#include "margrove/options.hpp"

namespace margrove {

GeneralisedScaling::GeneralisedScaling(double beta, double a) : beta_(beta), a_(a) {
  require<InvalidOption>(beta >= 0 && std::isfinite(beta), "generalised scaling: beta is ", beta,
                         ", but must be >= 0");
  require<InvalidOption>(a - beta >= 0 && a - beta <= 1, "generalised scaling: a - beta is ",
                         a - beta, ", but must be between 0 and 1");
}

GeneralisedScaling GeneralisedScaling::of_beta(double beta) {
  require<InvalidOption>(beta >= 0 && beta <= 1, "beta scaling: beta is ", beta,
                         ", but must be between 0 and 1");
  return {beta, 1};
}

AnySurrogate AnySurrogate::parse(std::string_view name) {
  const auto colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  const bool has_parameters = colon != std::string_view::npos;
  const std::string_view parameters = has_parameters ? name.substr(colon + 1) : "";
  if (kind == "beta" && has_parameters) {
    return GeneralisedScaling::of_beta(detail::parse_number("surrogate", parameters));
  }
  const auto comma = parameters.find(',');
  if (kind == "generalised" && comma != std::string_view::npos) {
    return GeneralisedScaling(detail::parse_number("surrogate", parameters.substr(0, comma)),
                              detail::parse_number("surrogate", parameters.substr(comma + 1)));
  }
  if (!has_parameters) {
    if (kind == "margin") return MarginRescaling{};
    if (kind == "slack") return SlackRescaling{};
    if (kind == "log") return LossScaledLog{};
    if (kind == "prob") return ProbLoss{};
    if (kind == "prob-convex") return ConvexProbLoss{};
    if (kind == "micro-f1") return MicroF1{};
    if (kind == "normalized-difference") return NormalizedDifference{};
  }
  throw InvalidOption(concat("option surrogate is '", name,
                             "', but must be one of margin, slack, generalised:BETA,A, beta:BETA, "
                             "log, prob, prob-convex, micro-f1, normalized-difference"));
}

namespace {
struct NameOf {
  std::string operator()(const MarginRescaling&) const { return "margin"; }
  std::string operator()(const SlackRescaling&) const { return "slack"; }
  std::string operator()(const GeneralisedScaling& s) const {
    return s.a() == 1 ? concat("beta:", s.beta()) : concat("generalised:", s.beta(), ",", s.a());
  }
  std::string operator()(const LossScaledLog&) const { return "log"; }
  std::string operator()(const ProbLoss&) const { return "prob"; }
  std::string operator()(const ConvexProbLoss&) const { return "prob-convex"; }
  std::string operator()(const MicroF1&) const { return "micro-f1"; }
  std::string operator()(const NormalizedDifference&) const { return "normalized-difference"; }
  std::string operator()(const CustomSurrogate&) const { return "custom"; }
};
}  // namespace

std::string AnySurrogate::to_text() const { return std::visit(NameOf{}, *this); }

}  // namespace margrove
