#include "model_arguments.hpp"

namespace margrove::cli {

void ModelArguments::declare(CLI::App& app) {
  app.add_option("MODEL", model_path, "file that train wrote")->required()->type_name("");
  app.add_option("DATA", data_path, "rows")->required()->type_name("");
  app.add_option("--threads", threads, "threads to use; 0: one for each core")
      ->type_name("INT")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--quiet", quiet, "no progress on stderr");
}

RawRows read_for(const Model& model, const std::string& path, CommandControl& control) {
  const bool is_text = model.preprocessing.kind == Preprocessing::Kind::text_tfidf;
  RawRows raw = read_rows(path, is_text, nullptr, false, &control.run());
  control.leave_if_interrupted();
  return raw;
}

}  // namespace margrove::cli
