#pragma once
// Missing labels.

#include <array>
#include <span>
#include <string>

#include "margrove/options.hpp"
#include "methods/training.hpp"
#include "model/method.hpp"
#include "model/splits.hpp"

namespace margrove {

template <>
inline constexpr auto kEnumNames<LabelSets::Unlabelled> = std::array{
    EnumName{LabelSets::Unlabelled::automatic, "auto"},
    EnumName{LabelSets::Unlabelled::drop, "drop"}, EnumName{LabelSets::Unlabelled::keep, "keep"}};

/// The plan of a run. Rows whose label is missing are left out, which a warning in the report of
/// the training counts. Where rows without a label have the empty set (see LabelSets::Unlabelled),
/// the method decides. Throws what MethodRun::plan() throws. The copy of the rows is part of the
/// plan.
Plan plan_labelled_rows(MethodRun& run, const TrainingSet& data, Executor& executor,
                        RunControl& control);

/// The same of rows that a model with one label for each row is measured on. Returns the warning;
/// empty: no row was left out.
std::string leave_out_unlabelled(Examples& raw);

/// Takes rows whose label is missing out of the validation rows, unless none would be left there.
void validate_on_labelled(std::span<Split> splits, const LabelSets& labels);

}  // namespace margrove
