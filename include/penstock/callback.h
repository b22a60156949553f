//===- callback.h - Type-erased callbacks -----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A small replacement of std::function: <functional> includes hash tables, which
// would slow down every user's compilation.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CALLBACK_H
#define PENSTOCK_CALLBACK_H

#include <type_traits>
#include <utility>

namespace penstock {

/// Copyable wrapper of a callable with these arguments; may be empty.
template <class... Arguments> class Callback {
public:
  Callback() = default;
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Callback> &&
                                              std::is_invocable_v<std::decay_t<F> &, Arguments...>>>
  Callback(F &&f)
      : function(new std::decay_t<F>(std::forward<F>(f))), actions(&actionsOf<std::decay_t<F>>) {}
  Callback(const Callback &other)
      : function(other ? other.actions->copy(other.function) : nullptr), actions(other.actions) {}
  Callback(Callback &&other) noexcept
      : function(std::exchange(other.function, nullptr)), actions(other.actions) {}
  Callback &operator=(Callback other) noexcept {
    std::swap(function, other.function);
    std::swap(actions, other.actions);
    return *this;
  }
  ~Callback() {
    if (function)
      actions->destroy(function);
  }

  explicit operator bool() const { return function != nullptr; }
  void operator()(Arguments... arguments) const {
    actions->call(function, std::forward<Arguments>(arguments)...);
  }

private:
  struct Actions {
    void (*call)(void *, Arguments...);
    void *(*copy)(const void *);
    void (*destroy)(void *);
  };
  template <class F>
  static constexpr Actions actionsOf = {
      [](void *f, Arguments... arguments) {
        (*static_cast<F *>(f))(std::forward<Arguments>(arguments)...);
      },
      [](const void *f) -> void * { return new F(*static_cast<const F *>(f)); },
      [](void *f) { delete static_cast<F *>(f); }};

  void *function = nullptr;
  const Actions *actions = nullptr;
};

} // namespace penstock

#endif // PENSTOCK_CALLBACK_H
