#pragma once
// The options of rows whose labels are in a file of annotations.

#include <string>

#include "cli/command.hpp"
#include "data/gaf_reader.hpp"

namespace margrove::cli {

struct AnnotationOptions {
  std::string annotations, evidence, aspect;
  static auto fields() {
    using O = AnnotationOptions;
    return std::tuple{
        field("annotations", &O::annotations, detail::Choices{},
              "GAF file with the terms of objects, which are the labels of rows; rows have the ids "
              "of objects instead of labels (id_column, or the label of other formats)"),
        field("evidence", &O::evidence, detail::Choices{},
              "GAF: only annotations with these evidence codes, separated by commas"),
        field("aspect", &O::aspect, detail::Choices{},
              "GAF: only terms of these aspects: letters of F, P and C, separated by commas"),
    };
  }
};

class AnnotationArguments {
 public:
  void declare(CLI::App& app) { options_.declare(app, "Labels of rows from annotations"); }
  /// Throws InvalidOption for a filter without a file.
  bool is_given();
  const std::string& path() { return options_.parse().annotations; }
  /// Replaces the ids of rows by the terms of the file, and warns of rows without any and
  /// of lines of another form.
  void apply(Examples& raw, CommandControl& control);

 private:
  BoundOptions<AnnotationOptions> options_;
};

}  // namespace margrove::cli
