import type { MermaidConfig } from 'mermaid';
import type { Theme } from '../drawing/protocol';
import { WORDS } from './labels';

/** Mermaid's configuration for a theme of the editor. A diagram's own configuration still counts, but for the layout. */
export function configuration(theme: Theme, portable: boolean): MermaidConfig {
  return {
    startOnLoad: false,
    securityLevel: 'strict',
    secure: ['secure', 'securityLevel', 'startOnLoad', 'maxTextSize', 'maxEdges', 'suppressErrorRendering', 'logLevel', 'layout', 'dompurifyConfig'],
    suppressErrorRendering: true,
    logLevel: 'fatal',
    layout: 'dagre',
    // The server's own limits are far above what can be drawn; Mermaid's are for web sites.
    maxTextSize: 50_000_000,
    maxEdges: 1_000_000,
    htmlLabels: !portable,
    dompurifyConfig: WORDS,
    // Below its title a box has room for the head of an arrow that comes from above.
    flowchart: { useMaxWidth: false, wrappingWidth: 240, subGraphTitleMargin: { top: 4, bottom: 14 } },
    fontFamily: theme.font,
    darkMode: theme.dark,
    theme: 'base',
    themeVariables: {
      darkMode: theme.dark,
      fontFamily: theme.font,
      fontSize: '14px',
      background: theme.background,
      primaryColor: theme.fill,
      primaryTextColor: theme.foreground,
      primaryBorderColor: theme.border,
      mainBkg: theme.fill,
      nodeBorder: theme.border,
      nodeTextColor: theme.foreground,
      textColor: theme.foreground,
      titleColor: theme.foreground,
      lineColor: theme.line,
      defaultLinkColor: theme.line,
      arrowheadColor: theme.line,
      edgeLabelBackground: theme.background,
      clusterBkg: theme.groupFill,
      clusterBorder: theme.border,
      dropShadow: 'none',
    },
  };
}
