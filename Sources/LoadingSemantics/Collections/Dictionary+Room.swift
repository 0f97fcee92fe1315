extension Dictionary {
    /// An empty dictionary with room for a few entries, for the tables that a process fills with its first request.
    ///
    /// Code that knows the types asks the runtime by name for the type of the memory that a dictionary takes. The
    /// runtime then goes through the conformances of all libraries to find the key's `Hashable`, which takes a tenth of
    /// a millisecond for each type of key. Generic code brings the conformance along, and this is generic code for all
    /// other modules, because it is not usable from inlined code. A table that outgrows the room asks by name.
    package static func withRoom() -> Self { Dictionary(minimumCapacity: 12) }
}
