#include "cli/model_arguments.hpp"

namespace margrove::cli {

void ModelArguments::declare(CLI::App& app, bool needs_data) {
  app.add_option("MODEL", model_path, "file that train wrote")->required()->type_name("");
  app.add_option("DATA", data_path, "rows")->required(needs_data)->type_name("");
  views.declare(app);
  app.add_option("--threads", threads, "threads to use; 0: one for each core")
      ->type_name("INT")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--quiet", quiet, "no progress on stderr");
}

RawRows ModelArguments::read(const ModelParts& model, CommandControl& control,
                             bool needs_labels) const {
  RawRows raw = read_rows(data_path, row_kind(model),
                          {.refuse_labels_alone = true,
                           .selection = model.records ? &model.records->selection : nullptr,
                           .labels_optional = !needs_labels},
                          &control.run());
  control.leave_if_interrupted();
  read_views_of_model(raw, views.files(), model.views, &control.run());
  control.leave_if_interrupted();
  return raw;
}

const std::string& ModelArguments::examples_path(const ModelParts& model) const {
  require<InvalidOption>(views.files().empty(), "option view is given, but the examples of method ",
                         model.method, " are not rows");
  return data_path;
}

}  // namespace margrove::cli
