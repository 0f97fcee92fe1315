/// The hosts that are reached without a proxy (PROXY-3, PROXY-8, PROXY-9).
struct ProxyExclusions: Sendable, Equatable {
    /// The entry that includes the local machine, which is excluded by default (PROXY-9).
    private static let withLoopback = "<-loopback>"

    private var entries: [ProxyExclusion] = []
    private var includesLoopback = false
    private var excludesSimpleHostnames = false

    init() {}

    /// - Parameter noProxy: The environment variable `no_proxy`. Commas and white space separate its entries.
    init(noProxy: String) {
        add(noProxy.split { $0 == "," || $0.isWhitespace }, names: .domains)
    }

    init(exceptions: [String], excludesSimpleHostnames: Bool) {
        self.excludesSimpleHostnames = excludesSimpleHostnames
        add(exceptions.flatMap { $0.split(whereSeparator: \.isWhitespace) }, names: .hosts)
    }

    private mutating func add(_ texts: [Substring], names: ProxyExclusion.Names) {
        for text in texts {
            if text == Self.withLoopback {
                includesLoopback = true
            } else if let entry = ProxyExclusion(text, names: names) {
                entries.append(entry)
            }
        }
    }

    func contains(_ destination: ProxyDestination) -> Bool {
        if !includesLoopback, destination.isLoopback { return true }
        if excludesSimpleHostnames, destination.address == nil, !destination.host.contains(".") { return true }
        return entries.contains { $0.matches(destination) }
    }
}
