// margrove export, margrove import

#include "base/atomic_file.hpp"
#include "cli/verbs.hpp"
#include "io/liblinear_model.hpp"
#include "io/model_file.hpp"

namespace margrove::cli {
namespace {

/// Two files, the first read and the second written.
class Convert final : public Command {
 public:
  Convert(CLI::App& app, bool exports) : exports_(exports) {
    app.add_option(exports ? "MODEL" : "FILE", from_,
                   exports ? "file that train wrote" : "model in the other format")
        ->required()
        ->type_name("");
    app.add_option(exports ? "FILE" : "MODEL", to_, "file to write")->required()->type_name("");
    app.add_option("--format", format_, "the other format")
        ->capture_default_str()
        ->check(CLI::IsMember({"liblinear"}));
  }

  int run() override {
    require_writable(to_);  // not empty
    require_result_writable(to_, {&from_, 1});
    CommandControl control(/*quiet=*/true);
    const ModelParts model = exports_ ? load_model(from_) : import_liblinear(from_);
    control.start_writing();
    if (exports_) {
      export_liblinear(model, to_);
    } else {
      save_model(model, to_);
    }
    return kOk;
  }

 private:
  bool exports_;
  std::string from_, to_, format_ = "liblinear";
};

Verb convert_verb(bool exports) {
  return {exports ? "export" : "import",
          exports ? "write a flat model in the format of LIBLINEAR" : "read a model of LIBLINEAR",
          [exports](CLI::App& app, const std::vector<std::string>&) -> std::unique_ptr<Command> {
            return std::make_unique<Convert>(app, exports);
          }};
}

}  // namespace

Verb export_verb() { return convert_verb(true); }
Verb import_verb() { return convert_verb(false); }

}  // namespace margrove::cli
