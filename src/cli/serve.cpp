// margrove serve

#include <fmt/format.h>

#include <ctime>
#include <fstream>

#include "cli/verbs.hpp"
#include "data/text_scan.hpp"
#include "data/utf8.hpp"
#include "serve/http_server.hpp"
#include "serve/request_head.hpp"
#include "serve/utc_time.hpp"

namespace margrove::cli {
namespace {

/// The first line of a file without the blanks around it.
std::string read_token(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  require(static_cast<bool>(file), path, ": the file of the token cannot be read");
  std::getline(file, line);
  if (line.ends_with('\r')) line.pop_back();
  std::string token(detail::trimmed(line));
  require(token.size() >= 16, path, ": the token has ", token.size(),
          " bytes, but must have at least 16 on the first line");
  return token;
}

/// Line ends, which printable() keeps, as it writes other control characters.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      line += "\\x0a";
    } else {
      line += c;
    }
  }
  return line;
}

class Serve final : public Command {
 public:
  explicit Serve(CLI::App& app) {
    app.add_option("MODEL", models_,
                   "files that train wrote, with names that requests use: FILE or NAME=FILE")
        ->required()
        ->type_name("");
    options_.declare(app, "Options");
    app.add_option("--token-file", token_path_,
                   "file whose first line is the token that requests must have")
        ->type_name("FILE");
    app.add_option("--allow-host", allowed_hosts_,
                   "name of this server in requests (header Host), besides localhost and loopback "
                   "addresses, such as that of a proxy; may be repeated")
        ->allow_extra_args(false)
        ->type_name("NAME");
    app.add_option("--allow-origin", allowed_origins_,
                   "address of pages that may send requests, SCHEME://HOST or SCHEME://HOST:PORT, "
                   "besides those of this server; may be repeated")
        ->allow_extra_args(false)
        ->type_name("ORIGIN");
  }

  int run() override {
    const serve::ServerOptions& options = options_.parse();
    require<InvalidOption>(serve::is_loopback(options.address) || !token_path_.empty(),
                           "option address is ", options.address,
                           ", which other machines can reach, so that token_file must be given");
    const std::string token = token_path_.empty() ? std::string() : read_token(token_path_);
    const serve::AllowedSites sites(allowed_hosts_, allowed_origins_);
    std::vector<serve::ModelFile> files;
    for (const std::string& text : models_) files.push_back(serve::parse_model_file(text));
    std::optional<serve::ServedModels> models;
    {
      const CommandControl interruptible(/*quiet=*/true);
      models.emplace(files);
    }
    serve::Activity activity;
    serve::Metrics metrics;
    const auto log = [](const std::string& line) {
      print_error(fmt::format("margrove: {} {}\n", serve::utc_text(std::time(nullptr)),
                              one_line(printable(line))));
    };
    const serve::Service service(
        *models, metrics, MARGROVE_VERSION, [&activity] { return activity.gauges(); }, log,
        !token.empty(), serve::limits_of(options));
    serve::run_server(service, metrics, activity, options, token, sites, log);
    return kOk;
  }

 private:
  std::vector<std::string> models_;
  BoundOptions<serve::ServerOptions> options_;
  std::string token_path_;
  std::vector<std::string> allowed_hosts_, allowed_origins_;
};

}  // namespace

Verb serve_verb() { return make_verb<Serve>("serve", "answer requests over HTTP with models"); }

}  // namespace margrove::cli
