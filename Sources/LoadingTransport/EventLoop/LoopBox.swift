/// Carries something that is confined to a loop through a closure that other threads hold on to but only the loop
/// calls.
package struct LoopBox<Value>: @unchecked Sendable {
    // Sendable because whoever makes one promises that `value` is used on its loop only.
    package let value: Value
    package init(_ value: Value) { self.value = value }
}
