// For tests: a folder for tuning databases, and records to put into them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "luminal/search/tuning_database.h"
#include "luminal/support/log.h"

namespace luminal::search {

/// A folder that is empty at first and gone at the end. Warnings are kept instead of shown.
class TuningFiles : public testing::Test {
 protected:
  TuningFiles()
      : directory_(testing::TempDir() + "/luminal_tuning_" + std::to_string(::getpid()) + "_" +
                   testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  ~TuningFiles() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name = "tuning.db") const { return directory_ + "/" + name; }

  std::string directory_;
  std::vector<std::string> log_;
  support::ScopedLogSink capture_{[this](support::LogLevel level, std::string_view message) {
                                    if (level >= support::LogLevel::kWarn)
                                      log_.emplace_back(message);
                                  },
                                  support::LogLevel::kInfo};
};

/// Of a kernel by its number.
inline TuningKey key(uint64_t kernel = 7, std::string shapes = "S0=128") {
  return {{1, kernel}, std::move(shapes), "cpu zen4 x2", "v1"};
}

/// A time of a schedule.
inline TuningRecord timed(const TuningKey& key, std::string schedule, double us, int samples = 9,
                          int64_t when = 100) {
  return {key, std::move(schedule), Timing{us, us / 10, samples}, when};
}

/// What an action throws, in words.
inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace luminal::search
