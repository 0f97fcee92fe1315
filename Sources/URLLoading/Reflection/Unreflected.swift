/// What `dump` and `Mirror` do not look into: it leads to passwords, header fields, cookies, and all that a session has.
protocol Unreflected: CustomReflectable {}

extension Unreflected {
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

extension SessionCore: Unreflected {}
extension TaskCore: Unreflected {}
extension ProtocolSource: Unreflected {}
extension SessionValues: Unreflected {}
extension RequestStorage: Unreflected {}
