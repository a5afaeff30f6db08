// margrove generate

#include "base/atomic_file.hpp"
#include "cli/verbs.hpp"
#include "data/generators.hpp"
#include "margrove/writers.hpp"

namespace margrove::cli {
namespace {

class Generate final : public Command {
 public:
  explicit Generate(CLI::App& app) {
    app.add_option("KIND", kind_, "balanced (a complete binary tree) or unbalanced (a caterpillar)")
        ->required()
        ->type_name("")
        ->check(CLI::IsMember({"balanced", "unbalanced"}));
    app.add_option("DATA", data_, "SVMlight file to write")->required()->type_name("");
    app.add_option("--hierarchy", hierarchy_, "also write the label hierarchy")->type_name("FILE");
    options_.declare(app, "Data");
  }

  int run() override {
    const GeneratorOptions& options = options_.parse();
    require_writable(data_);
    require_result_writable(hierarchy_, {});
    require_different_results(data_, hierarchy_);
    CommandControl control(/*quiet=*/true);
    const GeneratedData generated =
        kind_ == "balanced" ? generate_balanced(options) : generate_unbalanced(options);
    control.start_writing();
    if (!hierarchy_.empty()) write_hierarchy(hierarchy_, generated.hierarchy);
    write_svmlight(data_, generated.data.X, generated.data.labels, generated.data.codec);
    return kOk;
  }

 private:
  std::string kind_, data_, hierarchy_;
  BoundOptions<GeneratorOptions> options_;
};

}  // namespace

Verb generate_verb() { return make_verb<Generate>("generate", "synthetic hierarchical data"); }

}  // namespace margrove::cli
