import Foundation

/// One statement about `URLSession`, with the rules of docs/behaviour that make it. It runs in a process of its own. It
/// waits without a time limit for what must happen: the parent ends the process of a case that takes too long.
struct Case: Sendable {
    var rules: [String]
    var name: String
    var body: @Sendable () async throws -> Void

    init(_ rules: String..., name: String, body: @escaping @Sendable () async throws -> Void) {
        self.rules = rules
        self.name = name
        self.body = body
    }
}

/// What a case saw instead of what the rule states.
struct Mismatch: Error {
    var reason: String
}

func check(_ holds: Bool, _ reason: @autoclosure () -> String) throws {
    guard holds else { throw Mismatch(reason: reason()) }
}

func equal<Value: Equatable>(_ actual: Value, _ expected: Value, _ what: String) throws {
    try check(actual == expected, "\(what): \(describe(actual)), not \(describe(expected))")
}

/// Without the word Optional.
private func describe(_ value: Any) -> String {
    switch value {
    case let array as [Any]: "[" + array.map(describe).joined(separator: ", ") + "]"
    case let optional as any OptionalValue: optional.wrapped.map(describe) ?? "nil"
    default: "\(value)"
    }
}

private protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var wrapped: Any? { self }
}

func unwrap<Value>(_ value: Value?, _ what: String) throws -> Value {
    guard let value else { throw Mismatch(reason: "\(what): nil") }
    return value
}

/// Waits until it holds.
func until(_ condition: @Sendable () -> Bool) async {
    while !condition() { try? await Task.sleep(for: .milliseconds(5)) }
}

/// A time in which something that must not happen would have happened.
func quiet(_ milliseconds: Int = 300) async {
    try? await Task.sleep(for: .milliseconds(milliseconds))
}
