internal import LoadingSemantics

// Descriptions without secrets, because they are written to logs: without passwords, also those of URLs, and without
// the values of secret fields. `print`, `dump` and string interpolation use these mirrors.

extension TransferField: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(name): \(SecretFields.shown(value, of: name))" }
    package var customMirror: Mirror { Mirror(self, children: ["field": description], displayStyle: .struct) }
}

extension TransferRequest: CustomReflectable {
    package var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "identifier": identifier, "method": method, "url": URLReference.withoutPassword(url), "fields": fields,
                "bodyFile": bodyFile as Any, "folder": folder, "resumption": resumption as Any,
            ], displayStyle: .struct)
    }
}

extension TransferResumption.Download: CustomReflectable {
    package var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "url": URLReference.withoutPassword(url), "path": path, "bytesReceived": bytesReceived,
                "total": total as Any,
            ], displayStyle: .struct)
    }
}

/// Without the URL at which the upload resumes: it suffices to change the upload.
extension TransferResumption.Upload: CustomReflectable {
    package var customMirror: Mirror {
        Mirror(
            self,
            children: ["method": method, "url": URLReference.withoutPassword(url), "length": length as Any],
            displayStyle: .struct)
    }
}

extension TransferHead: CustomReflectable {
    package var customMirror: Mirror {
        Mirror(
            self, children: ["url": URLReference.withoutPassword(url), "status": status, "fields": fields],
            displayStyle: .struct)
    }
}

extension TransferReport.Event: CustomReflectable {
    package var customMirror: Mirror {
        let content: Any? =
            switch self {
            case .waitingForConnectivity, .challengeWithdrawn: nil
            case .upgraded(let url): URLReference.withoutPassword(url)
            case .redirected(let head, let url): (head, url: URLReference.withoutPassword(url))
            case .challenge(let challenge): challenge
            case .response(let head, let length, let offset): (head, expectedLength: length, resumedOffset: offset)
            case .progress(let progress): progress
            case .metrics(let metrics): "\(metrics.events.count) events"
            case .finished(let file): file
            case .failed(let failure, let resumption): (failure, resumption)
            }
        return Mirror(self, unlabeledChildren: content.map { [$0] } ?? [], displayStyle: .enum)
    }
}

extension TransferFailure: CustomReflectable {
    package var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "code": code, "url": url.map { URLReference.withoutPassword($0) } as Any, "reason": reason as Any,
            ], displayStyle: .struct)
    }
}

extension TransferAnswer.Decision: CustomReflectable {
    package var customMirror: Mirror {
        let content: Any? =
            if case .credential(let user, _, let isKept) = self { (user: user, isKept: isKept) } else { nil }
        return Mirror(self, unlabeledChildren: content.map { [$0] } ?? [], displayStyle: .enum)
    }
}

/// It leads to its request, its stores and its load.
extension Transfer: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: ["request": request], displayStyle: .class) }
}
