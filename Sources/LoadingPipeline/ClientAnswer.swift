/// What the client says to a question for something.
package enum ClientAnswer<Value> {
    case now(Value)
    /// By the method of the load that takes it.
    case later
}

extension ClientAnswer where Value == Void {
    package static var now: Self { .now(()) }
}
