/// `background`.
extension Arguments {
    /// `background ACTION …`
    mutating func background() throws(UsageError) -> CommandLineAction {
        let names = BackgroundOptions.Action.forPeople.map(\.rawValue)
        guard words.count > 1 else { throw UsageError("'background' needs one of \(names.joined(separator: ", "))") }
        guard let action = BackgroundOptions.Action(rawValue: words[1]) else {
            let nearest = Suggestion.nearest(to: words[1], among: names)
            throw UsageError("'background' cannot '\(words[1])'" + (nearest.map { ": did you mean '\($0)'?" } ?? ""))
        }
        try check(action)
        var options = BackgroundOptions(action)
        options.words = Array(words.dropFirst(2))
        options.isJSON = listsJSON
        options.upload = uploadedFile
        switch action {
        case .add:
            guard !options.words.isEmpty, !options.words.contains("") else { throw UsageError("'add' needs a URL") }
            if options.upload != nil, options.words.count > 1 { throw UsageError("a file is sent to one URL") }
            request.method = try backgroundMethod(isUpload: options.upload != nil)
            request.isUpload = options.upload != nil
        case .pause, .resume, .cancel, .log:
            guard !options.words.isEmpty else {
                throw UsageError("'\(action.rawValue)' needs a transfer: a number of 'background list'")
            }
        case .list, .watch, .install, .deliver, .serve:
            guard options.words.isEmpty else { throw UsageError("'\(action.rawValue)' takes no '\(options.words[0])'") }
        }
        return .background(request, options)
    }

    private mutating func check(_ action: BackgroundOptions.Action) throws(UsageError) {
        let allowed: Set<CommandOption> =
            switch action {
            case .add: [.header, .userAgent, .output, .upload, .method, .silent, .showError, .discretionary]
            case .list: [.json, .color]
            case .watch: [.color]
            default: []
            }
        try settleOutput("background")
        for option in used where option != .noDefaults && !allowed.contains(option) {
            throw UsageError("'background \(action.rawValue)' does not take --\(option.long)")
        }
        if case .standardOutput(exactly: true) = request.destination {
            throw UsageError("a background transfer needs a file, not standard output")
        }
    }
}
