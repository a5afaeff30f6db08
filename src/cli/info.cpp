// margrove info

#include <fmt/format.h>

#include <filesystem>

#include "cli/verbs.hpp"
#include "io/model_facts.hpp"
#include "io/model_file.hpp"

namespace margrove::cli {
namespace {

class Info final : public Command {
 public:
  explicit Info(CLI::App& app) {
    app.add_option("MODEL", path_, "file that train wrote")->required()->type_name("");
  }

  int run() override {
    const ModelParts model = load_model(path_);
    std::vector<Fact> facts = model_facts(model);
    facts.push_back({"file bytes", concat(std::filesystem::file_size(path_))});
    for (const auto& [name, value] : facts) print_text(fmt::format("{:<26} {}\n", name, value));
    return kOk;
  }

 private:
  std::string path_;
};

}  // namespace

Verb info_verb() { return make_verb<Info>("info", "the content of a model file"); }

}  // namespace margrove::cli
