package import BackgroundTransfers

/// Finds the transfers that a person names: `TASK`, `SESSION/TASK`, or `APPLICATION/SESSION/TASK`.
package enum TransferSelection {
    /// The whole name.
    package static func name(_ reference: TransferReference) -> String {
        "\(reference.application)/\(reference.session)/\(reference.task)"
    }

    /// The named transfers, in the order of the names, each once.
    package static func find(
        _ names: [String], among transfers: [ListedTransfer]
    ) throws(UsageError) -> [ListedTransfer] {
        var found: [ListedTransfer] = []
        for name in names {
            let matches = transfers.filter { isNamed(name, $0.reference) }
            guard let first = matches.first else {
                throw UsageError(
                    "there is no background transfer '\(name)': 'urlsession background list' shows all",
                    exitCode: .unavailable)
            }
            guard matches.count == 1 else {
                let all = matches.prefix(4).map { Self.name($0.reference) }.joined(separator: ", ")
                throw UsageError(
                    "'\(name)' names \(matches.count) transfers: \(all)\(matches.count > 4 ? ", …" : "")")
            }
            if !found.contains(first) { found.append(first) }
        }
        return found
    }

    /// Identifiers of sessions may contain slashes.
    private static func isNamed(_ name: String, _ reference: TransferReference) -> Bool {
        let whole = Self.name(reference)
        return name == whole || name == "\(reference.task)" || name == "\(reference.session)/\(reference.task)"
    }
}
