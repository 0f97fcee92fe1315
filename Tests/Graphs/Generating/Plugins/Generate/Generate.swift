import Foundation
import PackagePlugin

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Generates a file of each target that uses the plugin.
@main struct Generate: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: Target) throws -> [Command] {
        let output = context.pluginWorkDirectory.appending("Generated.swift")
        return [
            .buildCommand(
                displayName: "Generating code", executable: try context.tool(named: "Generator").path,
                arguments: [output.string], outputFiles: [output])
        ]
    }
}
