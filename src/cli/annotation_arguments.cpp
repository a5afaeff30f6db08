#include "cli/annotation_arguments.hpp"

#include <fmt/format.h>

#include "data/csv_reader.hpp"
#include "data/text_scan.hpp"
#include "methods/label_sources.hpp"

namespace margrove::cli {
namespace {

GafFilter filter_of(const AnnotationOptions& options) {
  GafFilter filter;
  if (!options.evidence.empty()) filter.evidence = csv_cells(options.evidence, ',');
  if (options.aspect.empty()) return filter;
  for (const std::string& letter : csv_cells(options.aspect, ',')) {
    require<InvalidOption>(letter.size() == 1, "option aspect is '", options.aspect,
                           "', but must be letters separated by commas");
    filter.aspects += letter;
  }
  return filter;
}

}  // namespace

bool AnnotationArguments::is_given() {
  const AnnotationOptions& options = options_.parse();
  require<InvalidOption>(
      !options.annotations.empty() || (options.evidence + options.aspect).empty(),
      "options evidence and aspect: one is given, but needs a --annotations "
      "FILE");
  return !options.annotations.empty();
}

void AnnotationArguments::apply(Examples& raw, CommandControl& control) {
  const AnnotationOptions& options = options_.parse();
  const Annotations found = read_gaf(options.annotations, filter_of(options), &control.run());
  for (const std::string& message : found.warnings) warn(message);
  const LeftOutLabels left_out = annotate(raw, found);
  if (left_out.num_rows == 0) return;
  const std::string one = left_out.example.empty()
                              ? std::string()
                              : concat("; the id of one is ", detail::quoted(left_out.example));
  warn(fmt::format("{} of {} rows have no annotation in {}, and so no label{}", left_out.num_rows,
                   raw.num_rows(), options.annotations, one));
}

}  // namespace margrove::cli
