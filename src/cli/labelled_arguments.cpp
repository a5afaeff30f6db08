#include "cli/labelled_arguments.hpp"

#include <optional>

#include "methods/label_sources.hpp"
#include "methods/model_rows.hpp"

namespace margrove::cli {

void LabelledArguments::declare_labels(CLI::App& app) {
  annotations.declare(app);
  app.add_option("--hierarchy", hierarchy_path,
                 "hierarchy to measure by, for a model without one; for any model, alternative ids "
                 "(alt_id) of an OBO file stand for their terms")
      ->type_name("FILE");
  app.add_flag("--part-of", read_hierarchy_options.part_of,
               "OBO hierarchy: read the edges of part_of, too");
}

std::vector<std::string> LabelledArguments::input_paths() {
  std::vector<std::string> paths = model.input_paths();
  paths.insert(paths.end(), {annotations.path(), hierarchy_path});
  return paths;
}

LabelledRowsRead LabelledArguments::read(const ModelParts& parts, CommandControl& control,
                                         Executor& executor, const std::string& train_path) {
  std::optional<Hierarchy> hierarchy;
  require<InvalidOption>(!read_hierarchy_options.part_of || !hierarchy_path.empty(),
                         "option part_of is given, but needs a --hierarchy FILE in OBO");
  if (!hierarchy_path.empty()) {
    read_hierarchy_options.control = &control.run();
    hierarchy = read_hierarchy(hierarchy_path, read_hierarchy_options);
    for (const std::string& message : hierarchy->warnings) warn(message);
  }
  std::optional<Examples> training;
  if (!train_path.empty()) {
    training = read_labels_of_model(parts, train_path, &control.run());
  }
  LabelledRowsRead read{model.read(parts, control, /*needs_labels=*/true), {}};
  if (annotations.is_given()) annotations.apply(read.raw, control);
  leave_out_unlabelled(parts, read.raw);
  if (hierarchy && !hierarchy->codec.alternatives().empty()) {
    use_terms(read.raw, hierarchy->codec);
    if (training) use_terms(*training, hierarchy->codec);
    if (parts.has_hierarchy) hierarchy.reset();
  }
  read.rows = evaluated_rows(parts, read.raw, hierarchy ? &*hierarchy : nullptr,
                             training ? &*training : nullptr, executor);
  return read;
}

}  // namespace margrove::cli
